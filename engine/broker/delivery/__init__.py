"""Delivery of messages to consumers: checks, long polling, delays, retries and dead letters."""
