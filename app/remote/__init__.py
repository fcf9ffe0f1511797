"""A cluster asked over the wire, for the command line."""
