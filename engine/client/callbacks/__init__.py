"""Listeners, hooks, selectors and results of users."""
