"""A world in words, moment by moment: what has just happened, and which events matter to a viewer."""
