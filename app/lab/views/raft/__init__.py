"""Views of the nodes of a Raft group."""
