"""Shared foundations of the client: settings, errors, states, the tree of offsets, workers."""
