"""What the nodes of a Raft group show."""
