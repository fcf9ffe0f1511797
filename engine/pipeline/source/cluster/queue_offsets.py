"""Offsets per queue, and the JSON form for users, checkpoints and progress reports.

``{"Orders": {"broker-a:0": 5, "broker-a:1": -2}}``: topic, then broker name and queue id, then the offset to read next.
In options -2 is the earliest message that still exists and -1 is after the latest, as in Spark's Kafka source.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import NamedTuple

#: "From the oldest existing message".
EARLIEST = -2
#: "After the newest message".
LATEST = -1


class QueueKey(NamedTuple):
    """One queue of the cluster. Sorts by topic, broker, number."""

    topic: str
    broker_name: str
    queue_id: int

    @property
    def label(self) -> str:
        """Return ``broker:number``, the key within the topic."""
        return f"{self.broker_name}:{self.queue_id}"

    def __str__(self) -> str:
        return f"{self.topic} {self.label}"


#: The key by which queues are sorted and grouped by broker.
broker_of = attrgetter("broker_name")
#: Queue -> the offset of the next message there.
Offsets = Mapping[QueueKey, int]


def parse_label(topic: str, label: str) -> QueueKey:
    """Return the queue that ``broker:number`` names. Raises ValueError."""
    broker_name, separator, number = label.rpartition(":")
    if not separator or not broker_name or not (number.isascii() and number.isdigit()):
        raise ValueError(f"{label!r} is not a queue; write broker-name:queue-id")
    return QueueKey(topic, broker_name, int(number))


def from_json_object(value: object) -> dict[QueueKey, int]:
    """Read the nested object. Raises ValueError that says what is wrong."""
    if not isinstance(value, dict):
        raise ValueError("an object {topic: {broker:queue: offset}} is needed")
    offsets: dict[QueueKey, int] = {}
    for topic, queues in value.items():
        if not isinstance(queues, dict):
            raise ValueError(f"topic {topic!r} needs an object {{broker:queue: offset}}")
        for label, offset in queues.items():
            if not isinstance(offset, int) or isinstance(offset, bool) or offset < EARLIEST:
                raise ValueError(f"the offset of {topic} {label} is {offset!r}; allowed: 0 and more, -1 or -2")
            offsets[parse_label(topic, label)] = offset
    return offsets


def parse_json(text: str) -> dict[QueueKey, int]:
    """Read the JSON text. Raises ValueError that says what is wrong."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    return from_json_object(value)


def to_json_object(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Return the nested object, sorted: equal offsets always give the same text, by which Spark compares them."""
    nested: dict[str, dict[str, int]] = {}
    for queue in sorted(offsets):
        nested.setdefault(queue.topic, {})[queue.label] = offsets[queue]
    return nested


def list_queues(queues: Iterable[QueueKey], at_most: int = 12) -> str:
    """Return names of queues for an error, cut after ``at_most``."""
    labels = [str(queue) for queue in sorted(queues)]
    more = f" and {len(labels) - at_most} more" if len(labels) > at_most else ""
    return ", ".join(labels[:at_most]) + more
