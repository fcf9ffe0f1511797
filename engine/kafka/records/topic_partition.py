"""A partition by name (Kafka: ``TopicPartition``)."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """:ivar partition: its number, from 0."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
