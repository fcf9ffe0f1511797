"""Ranges of queues, planned, pulled and read."""
