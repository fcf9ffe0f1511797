"""Messages on the wire and in the log."""
