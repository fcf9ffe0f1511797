"""The figures of growth: one point for each store, number of topics and number of messages."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from app.foundation.json_types import JsonObject


class Place(NamedTuple):
    """One write: which file it went to, numbered in the order of their making, and where in it."""

    file: int
    position: int


@dataclasses.dataclass(frozen=True, slots=True)
class GrowthPoint:
    """:ivar store: ``rocketmq`` or ``kafka``.

    :ivar write_s, recover_clean_s, recover_killed_s: seconds for writing all messages, and for opening the store again
        after a clean end and after the end of the process.
    :ivar files: that hold records or indexes; ``open_files``: the most that were open at the same time.
    :ivar written_files: how many files the messages themselves were written to.
    :ivar index_bytes: of what leads from an offset to a record.
    :ivar disk_bytes: that the files take on the disk.
    :ivar lookup_reads, lookup_bytes, lookup_seeks: of one look-up of an offset, on average.
    :ivar pattern: the writes of the log's records, thinned out.
    """

    store: str
    topics: int
    messages: int
    write_s: float
    files: int
    open_files: int
    written_files: int
    index_bytes: int
    disk_bytes: int
    lookup_reads: float
    lookup_bytes: float
    lookup_seeks: float
    lookup_us: float
    recover_clean_s: float
    recover_killed_s: float
    pattern: tuple[Place, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class GrowthResult:
    """All points of one run, in the order in which they were measured: the stores take turns."""

    machine: str
    message_bytes: int
    batch: int
    points: tuple[GrowthPoint, ...]

    def to_dict(self) -> JsonObject:
        """As JSON takes it."""
        return dataclasses.asdict(self)
