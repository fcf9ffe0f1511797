"""The frame of a request or a response, and its headers."""
