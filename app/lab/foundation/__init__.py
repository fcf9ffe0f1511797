"""Shared foundations of the lab's pages: bounds, refusals, identity of the viewer."""
