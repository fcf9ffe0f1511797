"""Writing: rows become messages, each sent once."""
