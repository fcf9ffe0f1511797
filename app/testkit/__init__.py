"""The test kit for other languages: an ephemeral broker, and an HTTP API to ask, break and advance it."""
