"""A store opened again after a clean end or a crash."""
