"""Consume queues and the index, which lead to the messages in the log."""
