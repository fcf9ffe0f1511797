"""Nodes of a Raft group and their clients, see :mod:`engine.replication.raft`."""
