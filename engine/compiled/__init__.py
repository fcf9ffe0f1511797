"""The engine's second form: the same source, its hot path compiled."""
