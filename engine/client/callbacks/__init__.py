"""What users give and get: listeners, hooks, selectors, results."""
