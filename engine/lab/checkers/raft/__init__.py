"""Properties of a Raft group, with the names of its paper (figure 3)."""
