"""Starts brokers and unmodified RocketMQ clients as processes, and watches what they print."""
