"""Strategies that allocate queues to the consumers of a group."""
