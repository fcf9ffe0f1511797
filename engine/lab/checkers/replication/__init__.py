"""Checkers of copies: what a slave holds."""
