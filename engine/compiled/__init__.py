"""The compiled form of the engine: the same source with its hot path compiled."""
