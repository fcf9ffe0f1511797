"""What the lab's pages share: bounds, refusals, who asks."""
