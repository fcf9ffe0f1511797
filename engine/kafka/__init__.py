"""Kafka's storage and client path, as small and readable as the RocketMQ store beside it, to be compared with it.

The bytes are Kafka's: its own tools read our files, and ours read its. Magic 2 only (since Kafka 0.11, the only one
since 4.0). Left out: replication, group membership, transactions, log compaction.
"""
