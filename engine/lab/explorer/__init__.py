"""The explorer: searches the orders in which actors can run for one that breaks an invariant."""
