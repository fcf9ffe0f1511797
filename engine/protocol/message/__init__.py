"""A message, on the wire and in the log."""
