"""Kafka's client path: the producer gathers records in batches, and the consumer keeps fetched batches until they are
opened.
"""
