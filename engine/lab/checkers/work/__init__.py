"""Checkers of the work that messages request."""
