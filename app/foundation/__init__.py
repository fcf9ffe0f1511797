"""Shared foundations of pages and commands: JSON, texts, versions, bounds on listeners."""
