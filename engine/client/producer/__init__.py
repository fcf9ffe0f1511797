"""Producers: sending, transactions, requests, retries, fault avoidance."""
