"""Checkers of messages."""
