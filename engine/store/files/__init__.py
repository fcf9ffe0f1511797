"""Mapped files, and the small files that the store keeps next to the log."""
