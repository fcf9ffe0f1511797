"""Consume queues and the index: where the log's messages stand."""
