"""One account of what happened in a lab world: frames, deliveries and stored copies, for everything that asks."""
