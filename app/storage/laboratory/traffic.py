"""The traffic that goes to both stores: its bounds, and its messages, which are the same at each call."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.foundation.translator import in_all_languages
from app.picture.pages.storage import StoredTraffic
from engine.fields.field import Field
from engine.fields.refusal import FieldRefused
from engine.kafka.records.compression import SPOKEN_CODECS

#: When the first message is born, in ms since 1970: 1 January 2026, UTC. The same traffic gives the same bytes.
FIRST_MS = 1_767_225_600_000
#: Milliseconds from one message to the next.
STEP_MS = 10

#: Least and most of each choice. Names are those of :class:`LaboratoryTraffic`.
BOUNDS: Mapping[str, tuple[int, int]] = {
    "topics": (1, 32),
    "queues": (1, 8),
    "messages": (1, 10_000),
    "body_bytes": (1, 4_096),
    "distinct_keys": (0, 10_000),
    "batch_records": (1, 500),
}
#: Queues of all topics together: each partition has files of its own, all open while they are written.
QUEUES_MAX = 64
#: Bytes of all bodies together: a page must not fill the disk.
BODIES_MAX_BYTES = 8_000_000
CODECS = tuple(codec.name.lower() for codec in SPOKEN_CODECS)

_WORDS = ("order", "paid", "shipped", "Lyon", "Wuhan", "express", "customer", "amount", "12.50", "returned", "glass")
_SHORTEST = min(map(len, _WORDS))


@dataclass(frozen=True, slots=True)
class LaboratoryTraffic:
    """The messages to send: to one topic after the other, and within a topic to one queue after the other.

    :ivar queues: queues of each topic; Kafka calls them partitions.
    :ivar distinct_keys: 0: messages have no key.
    :ivar codec: the compression of a Kafka producer's batches.
    :ivar batch_records: maximum number of records in a Kafka batch. RocketMQ stores each message by itself, however it
        was sent.
    """

    topics: int = 2
    queues: int = 2
    messages: int = 4_000
    body_bytes: int = 200
    distinct_keys: int = 1_000
    codec: str = "none"
    batch_records: int = 10

    def as_json(self) -> StoredTraffic:
        return {
            "topics": self.topics,
            "queues": self.queues,
            "messages": self.messages,
            "body_bytes": self.body_bytes,
            "distinct_keys": self.distinct_keys,
            "codec": self.codec,
            "batch_records": self.batch_records,
        }

    def topic(self, number: int) -> str:
        """Return the topic of that number, from 0."""
        return f"orders-{number}"


#: The fields of a request that name its traffic.
TRAFFIC_FIELDS = (
    *(Field(name, "integer", *bounds, default=getattr(LaboratoryTraffic(), name)) for name, bounds in BOUNDS.items()),
    Field("codec", "choice", default=LaboratoryTraffic().codec, allowed=CODECS),
)


@dataclass(frozen=True, slots=True)
class TrafficMessage:
    """One message of the traffic. ``key`` None: it has none. ``born_ms``: since 1970."""

    topic: str
    queue_id: int
    key: str | None
    body: bytes
    born_ms: int


def traffic_of(read: Mapping[str, Any]) -> LaboratoryTraffic:
    """Return the traffic that the values of :data:`TRAFFIC_FIELDS` describe. Raises :class:`FieldRefused` where they
    are too much together.
    """
    for name, other, most, what in (
        ("queues", "topics", QUEUES_MAX, "queues of all topics"),
        ("messages", "body_bytes", BODIES_MAX_BYTES, "bytes of all bodies"),
    ):
        together = read[name] * read[other]
        if together > most:
            text = in_all_languages("storage.too_much." + name, together=f"{together:,}", most=f"{most:,}")
            raise FieldRefused(name, f"{read[name]} times {read[other]} are {together}", f"{most} {what}", text)
    return LaboratoryTraffic(**{field.name: read[field.name] for field in TRAFFIC_FIELDS})


def messages_of(traffic: LaboratoryTraffic) -> Iterator[TrafficMessage]:
    """Yield all messages, in the order in which they are sent."""
    source = random.Random(20260101)
    for number in range(traffic.messages):
        topic, turn = number % traffic.topics, number // traffic.topics
        key = f"K{number % traffic.distinct_keys:05d}" if traffic.distinct_keys else None
        yield TrafficMessage(
            topic=traffic.topic(topic),
            queue_id=turn % traffic.queues,
            key=key,
            body=_body(number, traffic.body_bytes, source),
            born_ms=FIRST_MS + number * STEP_MS,
        )


def _body(number: int, size_bytes: int, source: random.Random) -> bytes:
    """Return a body of words, as in most real bodies, so that it compresses."""
    words = " ".join(source.choices(_WORDS, k=size_bytes // _SHORTEST + 1))
    return f"#{number} {source.getrandbits(32):08x} {words}".encode()[:size_bytes]
