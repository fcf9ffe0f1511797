"""The nodes of a world, role by role: what runs on each, and what the clients on them saw."""
