"""The worlds of browsers: stepping, rewinding, watching."""
