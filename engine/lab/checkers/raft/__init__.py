"""What holds in a Raft group, by the names of its paper (figure 3)."""
