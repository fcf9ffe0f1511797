"""Strategies for doing the work of a message once, and some that only seem to."""
