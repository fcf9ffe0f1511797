"""Events of a world for its checkers."""
