"""Checkers of replication: what a slave holds."""
