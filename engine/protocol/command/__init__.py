"""The frame of a request or an answer, and its headers."""
