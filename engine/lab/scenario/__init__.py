"""Scenarios as data, and the parsing of their text: nodes, traffic, script, commands, settings."""
