"""The request processors of the broker, by request code."""
