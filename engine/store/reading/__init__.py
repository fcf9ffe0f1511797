"""Lookup and reading of messages for consumers."""
