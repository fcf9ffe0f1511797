"""Checkers of queues: their owner, order and offsets."""
