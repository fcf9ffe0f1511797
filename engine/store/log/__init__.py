"""The commit log: writing, checking and scanning."""
