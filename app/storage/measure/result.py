"""The figures of a measurement. All rates are medians over rounds, with the lowest and the highest."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import NamedTuple


class MeasuredSpread(NamedTuple):
    """One figure over all rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> MeasuredSpread:
        """Return the spread of at least one value."""
        return cls(statistics.median(values), min(values), max(values))


@dataclasses.dataclass(frozen=True, slots=True)
class ReadFigures:
    """Reading a file whole, in blocks.

    :ivar order: ``sequential`` or ``random``: every block once, in the order of the file or in random order.
    :ivar is_cold: nothing of the file was in the page cache before.
    :ivar calls: number of read system calls.
    """

    order: str
    block_bytes: int
    is_cold: bool
    bytes_per_s: MeasuredSpread
    calls: int


@dataclasses.dataclass(frozen=True, slots=True)
class SendFigures:
    """Sending a file to a socket on this machine.

    :ivar way: ``read+send``, ``mmap+send`` or ``sendfile``.
    :ivar calls: number of system calls of the sender.
    :ivar copied_bytes: bytes that the processor copied into or out of the sender's memory by these calls.
    :ivar user_ms, system_ms: processor time of the sender's thread.
    :ivar page_faults: page faults of the sender's thread, without and with a read from the disk.
    """

    way: str
    chunk_bytes: int
    is_cold: bool
    bytes_per_s: MeasuredSpread
    calls: int
    copied_bytes: int
    user_ms: MeasuredSpread
    system_ms: MeasuredSpread
    page_faults: int


@dataclasses.dataclass(frozen=True, slots=True)
class AppendFigures:
    """Appending messages to a file.

    :ivar flush: ``never``, ``per batch`` or ``per message``: how often they are made durable (fdatasync).
    """

    flush: str
    batch: int
    message_bytes: int
    messages_per_s: MeasuredSpread
    flushes: int


@dataclasses.dataclass(frozen=True, slots=True)
class MeasureResult:
    """The figures of a measurement.

    :ivar cold_share: the largest share of the file that was still in the page cache where it should have been empty; 1
    where it could not be emptied.
    """

    machine: str
    file_bytes: int
    rounds: int
    cold_share: float
    reads: tuple[ReadFigures, ...]
    sends: tuple[SendFigures, ...]
    appends: tuple[AppendFigures, ...]
