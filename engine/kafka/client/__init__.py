"""Kafka's client path: records gather in batches on one side, fetched batches wait to be opened on the other."""
