"""kafka-python, a client that others wrote, set up for tests. Its calls block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from engine.kafka.records.compression import Codec

_PATIENCE_S = 30


def create_topic(address: str, topic: str) -> None:
    """Create a topic of one partition."""
    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics([NewTopic(topic, 1, 1)])
    admin.close()


def produce(address: str, topic: str, count: int, codec: Codec = Codec.NONE) -> None:
    """Send ``paid 0`` and so on with keys and headers, and wait until all are acknowledged."""
    name = None if codec is Codec.NONE else codec.name.lower()
    producer = KafkaProducer(bootstrap_servers=address, compression_type=name, linger_ms=50)
    sent = [
        producer.send(topic, value, b"order-%d" % number, headers=[("n", b"%d" % number)])
        for number, value in enumerate(values(count))
    ]
    producer.flush(timeout=_PATIENCE_S)
    assert all(future.get(timeout=_PATIENCE_S) for future in sent)
    producer.close()


def values(count: int) -> list[bytes]:
    """What :func:`produce` sends."""
    return [b"paid %d" % number for number in range(count)]


@contextmanager
def consumer_of(address: str, *partitions: TopicPartition, **settings: object) -> Iterator[KafkaConsumer]:
    """One with these partitions, which begins at their begin."""
    consumer = KafkaConsumer(
        bootstrap_servers=address,
        auto_offset_reset="earliest",
        consumer_timeout_ms=_PATIENCE_S * 1_000,
        enable_auto_commit=False,
        **settings,
    )
    consumer.assign(partitions)
    try:
        yield consumer
    finally:
        consumer.close()


def consumed(consumer: KafkaConsumer, count: int) -> list[Any]:
    """The next ``count`` records; fewer when no more come."""
    return [record for _, record in zip(range(count), consumer, strict=False)]
