"""Shared foundations of pages and commands: JSON, texts, versions, bounds on listeners, types and rules of options."""
