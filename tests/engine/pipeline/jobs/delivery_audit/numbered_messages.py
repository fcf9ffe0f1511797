"""Messages as a broker stores them, and what a plain model says of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from engine.pipeline.jobs.delivery_audit.summaries import UNNUMBERED, QueueSegment
from engine.protocol.message.numbering_ledger import PRODUCER_ID_PROPERTY, SEQUENCE_NUMBER_PROPERTY
from engine.protocol.number_set import NumberSet

ALL_TIME_MS = 1 << 53
EPOCH_MS = 1_700_000_000_000


@dataclass
class Stored:
    """One message in a queue; its offset is its place there."""

    producer: str | None
    number: int
    queue: int
    latency_ms: int = 0
    stored_ms: int = EPOCH_MS
    unique_id: str | None = None
    topic: str = "T"
    body: bytes = b"x"


def message_table(messages: list[Stored]) -> pa.Table:
    """In the given order; offsets are counted per queue."""
    rows = []
    for offset, message in with_offsets(messages):
        properties = {"UNIQ_KEY": message.unique_id or "none"}
        if message.producer is not None:
            properties |= {PRODUCER_ID_PROPERTY: message.producer, SEQUENCE_NUMBER_PROPERTY: str(message.number)}
        rows.append(
            (
                message.topic,
                "broker-a",
                message.queue,
                offset,
                message.unique_id,
                list(properties.items()),
                (message.stored_ms - message.latency_ms) * 1_000,
                message.stored_ms * 1_000,
                message.body,
            )
        )
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)


SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("broker_name", pa.string()),
        ("queue_id", pa.int32()),
        ("queue_offset", pa.int64()),
        ("unique_id", pa.string()),
        ("properties", pa.map_(pa.string(), pa.string())),
        ("born_timestamp", pa.timestamp("us", tz="UTC")),
        ("store_timestamp", pa.timestamp("us", tz="UTC")),
        ("body", pa.binary()),
    ]
)


def numbered_table(
    producers: np.ndarray,
    numbers: np.ndarray,
    queues: np.ndarray,
    offsets: np.ndarray,
    stored_ms: np.ndarray,
    latency_ms: np.ndarray,
) -> pa.Table:
    """The same for many messages, made by columns."""
    count = len(numbers)
    names = pa.array([f"group@{producer:032X}" for producer in range(int(producers.max()) + 1)])
    keys = pa.array([PRODUCER_ID_PROPERTY, SEQUENCE_NUMBER_PROPERTY]).take(pa.array(np.tile([0, 1], count)))
    values = pa.concat_arrays([names.take(pa.array(producers)), pa.array(numbers).cast(pa.string())])
    values = values.take(pa.array(np.arange(2 * count).reshape(2, count).T.ravel()))
    properties = pa.MapArray.from_arrays(pa.array(np.arange(count + 1) * 2, pa.int32()), keys, values)
    columns = {
        "topic": pa.array(["T"]).take(pa.array(np.zeros(count, np.int64))),
        "broker_name": pa.array(["broker-a"]).take(pa.array(np.zeros(count, np.int64))),
        "queue_id": pa.array(queues, pa.int32()),
        "queue_offset": pa.array(offsets, pa.int64()),
        "unique_id": pa.nulls(count, pa.string()),
        "properties": properties,
        "born_timestamp": pa.array((stored_ms - latency_ms) * 1_000).cast(SCHEMA.field("born_timestamp").type),
        "store_timestamp": pa.array(stored_ms * 1_000).cast(SCHEMA.field("store_timestamp").type),
        "body": pa.nulls(count, pa.binary()),
    }
    return pa.table(columns, schema=SCHEMA)


@dataclass
class Model:
    """The definitions, said in the plainest way."""

    lost: dict[str, list[int]] = field(default_factory=dict)
    duplicated: Counter[str] = field(default_factory=Counter)
    out_of_order: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, messages: list[Stored]) -> Model:
        model = cls()
        copies = Counter((message.producer, message.number) for message in messages if message.producer)
        for producer in {producer for producer, _ in copies}:
            there = {number for of_producer, number in copies if of_producer == producer}
            model.lost[producer] = [number for number in range(max(there)) if number not in there]
        for (producer, _), count in copies.items():
            model.duplicated[producer] += count - 1
        highest: dict[tuple[str, int], int] = {}
        for message in messages:
            if message.producer is None:
                continue
            key = (message.producer, message.queue)
            if message.number < highest.get(key, -1) and copies[message.producer, message.number] == 1:
                model.out_of_order[message.producer].append(message.number)
            highest[key] = max(highest.get(key, -1), message.number)
        return model


def with_offsets(messages: list[Stored]) -> list[tuple[int, Stored]]:
    """Each message with its offset, counted per queue."""
    ends: Counter[tuple[str, int]] = Counter()
    placed = []
    for message in messages:
        placed.append((ends[message.topic, message.queue], message))
        ends[message.topic, message.queue] += 1
    return placed


def plain_segments(
    placed: list[tuple[int, Stored]], judge_until_ms: int = ALL_TIME_MS, late_ms: int = 100
) -> list[QueueSegment]:
    """What Spark sums up of each producer in each queue, said in the plainest way."""
    of_segment: dict[tuple[str, str, str], list[tuple[int, Stored]]] = defaultdict(list)
    for offset, message in placed:
        of_segment[message.topic, f"broker-a:{message.queue}", message.producer or UNNUMBERED].append((offset, message))
    return [_plain_segment(key, several, judge_until_ms, late_ms) for key, several in of_segment.items()]


def _plain_segment(
    key: tuple[str, str, str], placed: list[tuple[int, Stored]], judge_until_ms: int, late_ms: int
) -> QueueSegment:
    messages = [message for _, message in placed]
    numbers = [-1 if message.producer is None else message.number for message in messages]
    copies, highest = Counter(numbers), np.maximum.accumulate(numbers).tolist()
    numbered = [] if key[2] == UNNUMBERED else numbers
    return QueueSegment(
        *key,
        first_offset=placed[0][0],
        last_offset=placed[-1][0],
        first_number=numbers[0],
        highest=highest[-1],
        settled=max(
            (n for n, message in zip(numbers, messages, strict=True) if message.stored_ms <= judge_until_ms), default=-1
        ),
        count=len(messages),
        late=sum(message.latency_ms > late_ms for message in messages),
        oldest_ms=min(message.stored_ms for message in messages),
        newest_ms=max(message.stored_ms for message in messages),
        numbers=NumberSet(numbered),
        repeated=NumberSet(number for number in numbered if copies[number] > 1),
        descending=NumberSet(n for n, before in zip(numbered, highest, strict=False) if n < before),
    )
