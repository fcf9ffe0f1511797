"""The bodies of frames."""
