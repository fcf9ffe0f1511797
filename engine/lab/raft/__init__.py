"""Nodes of a group that keeps a majority log, and their clients, see :mod:`engine.replication.raft`."""
