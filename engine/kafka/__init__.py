"""Kafka's storage and client path, as small and readable as the RocketMQ store next to it, so that the two can be
compared.

The bytes are Kafka's: Kafka's own tools read our files, and ours read Kafka's. Only magic 2 is supported (the format
since Kafka 0.11, the only one since 4.0). Left out: group membership and log compaction.
"""
