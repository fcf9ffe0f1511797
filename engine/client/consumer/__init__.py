"""Consuming: push and pull consumers, their services, what they answer brokers."""
