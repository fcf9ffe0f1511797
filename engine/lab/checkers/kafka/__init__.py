"""Checkers of the records of Kafka's producers, in the logs of partitions and at consumers."""
