"""The nodes of a world by role: what runs on each, and what its clients saw."""
