"""What travels and what is stored: commands, headers, bodies, messages, ids. Pure functions and data, no I/O."""
