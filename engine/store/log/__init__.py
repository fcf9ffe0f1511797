"""The commit log: written, checked, walked."""
