"""Sending: producers, transactions, requests, retries, fault avoidance."""
