"""The queues of a consumer: pulled messages, locks, offsets, rebalance."""
