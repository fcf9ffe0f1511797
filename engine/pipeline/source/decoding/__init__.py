"""Stored messages become columns."""
