"""Job ``traffic``: throughput, latency, skew, imbalance and consumer lag over time."""
