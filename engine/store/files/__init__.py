"""Mapped files, and what the store writes beside the log."""
