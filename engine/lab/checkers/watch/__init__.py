"""What happened in a world, as checkers are told it."""
