"""Filters of a query that let the source read less.

Spark checks every filter again, so the only requirement here is not to drop a row that the filter lets through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.decoding.schema import KAFKA_NAMES
from engine.pipeline.source.reader.options import is_pushable_tag

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_US_PER_MS = 1_000
#: Of offsets and of times.
NUMBER_MAX = 2**63 - 1

#: A longer list of tags is not worth sending with every pull.
_TAGS_MAX = 100
#: Columns for which a set of wanted values is kept -> the values' type.
_TYPES_OF_SETS: dict[str, type] = {"topic": str, "broker_name": str, "queue_id": int, "tags": str}
#: Columns for which a range of wanted values is kept.
_COLUMNS_OF_RANGES = ("queue_id", "queue_offset", "store_timestamp")


@dataclass(slots=True)
class PushedFilters:
    """The values and ranges that all filters together leave.

    :ivar wanted: column -> the values that are left of it; columns that are not restricted are not in it.
    :ivar ranges: column -> first and last value that is left of it, in milliseconds for times.
    """

    wanted: dict[str, frozenset[Any]] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(
        default_factory=lambda: dict.fromkeys(_COLUMNS_OF_RANGES, (0, NUMBER_MAX))
    )

    def add(self, item: Filter) -> None:
        """Take a filter into account if it is of a supported kind."""
        path: tuple[str, ...] = getattr(item, "attribute", ())
        column = KAFKA_NAMES.get(path[0], path[0]) if len(path) == 1 else ""
        values = _one_of(item)
        if values is not None and column in _TYPES_OF_SETS:
            self._keep_equal(column, values)
        elif column in self.ranges:
            (low, high), (first, last) = self.ranges[column], _interval(item)
            self.ranges[column] = max(low, first), min(high, last)

    def _keep_equal(self, column: str, values: Iterable[object]) -> None:
        left = frozenset(value for value in values if type(value) is _TYPES_OF_SETS[column])
        if column != "tags" or _can_be_subscribed(left):
            self.wanted[column] = left & self.wanted.get(column, left)

    def wants(self, queue: QueueKey) -> bool:
        """Return whether a queue can hold wanted messages."""
        low, high = self.ranges["queue_id"]
        return low <= queue.queue_id <= high and all(
            getattr(queue, column) in left for column, left in self.wanted.items() if column != "tags"
        )


def _can_be_subscribed(tags: frozenset[object]) -> bool:
    return len(tags) <= _TAGS_MAX and all(isinstance(tag, str) and is_pushable_tag(tag) for tag in tags)


def _one_of(item: Filter) -> Sequence[object] | None:
    """Return the values of ``column = value`` or ``column in (values)``; None for any other filter."""
    if isinstance(item, EqualTo | EqualNullSafe):
        return None if item.value is None else (item.value,)
    return tuple(item.value) if isinstance(item, In) else None


def _interval(item: Filter) -> tuple[int, int]:
    """Return the first and last integer from 0 on (of milliseconds, for times) that a comparison lets through."""
    value = getattr(item, "value", None)
    scale = 1
    if isinstance(value, datetime) and value.tzinfo is not None:
        value, scale = (value - _EPOCH) // _MICROSECOND, _US_PER_MS
    if type(value) is not int:
        return 0, NUMBER_MAX
    low, high = 0, NUMBER_MAX
    up, down = -(-value // scale), value // scale
    match item:
        case EqualTo() | EqualNullSafe():
            low, high = up, down
        case GreaterThanOrEqual():
            low = up
        case GreaterThan():
            low = down + 1
        case LessThanOrEqual():
            high = down
        case LessThan():
            high = up - 1
    return max(0, low), high
