"""The figures of growth: one point for each store, number of topics and number of messages."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple


class WritePlace(NamedTuple):
    """One write: the number of its file, in the order of creation, and the position in it."""

    file: int
    position: int


@dataclasses.dataclass(frozen=True, slots=True)
class GrowthPoint:
    """One point of growth.

    :ivar store: ``rocketmq`` or ``kafka``.

    :ivar write_s, recover_clean_s, recover_killed_s: seconds for writing all messages, and for opening the store again
        after a clean end and after the end of the process.
    :ivar files: number of files with records or indexes; ``open_files``: the most that were open at the same time.
    :ivar written_files: number of files to which the messages themselves were written.
    :ivar index_bytes: bytes of what leads from an offset to a record.
    :ivar disk_bytes: bytes that the files take on the disk.
    :ivar lookup_reads, lookup_bytes, lookup_seeks: averages of one look-up of an offset.
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
    pattern: tuple[WritePlace, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class GrowthResult:
    """The points of one run, in the order of measurement: the stores take turns."""

    machine: str
    message_bytes: int
    batch: int
    points: tuple[GrowthPoint, ...]
