"""One reader of outside input: JSON, query strings, YAML, options and command lines are read by tables of fields."""
