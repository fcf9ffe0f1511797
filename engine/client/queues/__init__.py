"""The queues that a consumer holds: messages pulled, locks, offsets, rebalance."""
