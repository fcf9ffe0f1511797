"""Checkers of half messages and of money."""
