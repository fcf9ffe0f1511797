"""What a scenario says, as data, and how its text is read: nodes, traffic, script, commands, settings."""
