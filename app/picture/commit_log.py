"""The commit log of the live broker: its files, its newest records, and its damage."""

from __future__ import annotations

from typing import TypedDict

from app.picture.record import RecordSummary


class LogFile(TypedDict):
    """One file of the commit log."""

    name: str
    size_bytes: int
    #: Offset of its first byte.
    start: int


class DamagedPlace(TypedDict):
    """A message that is damaged on the disk, and therefore not sent."""

    #: In the commit log.
    offset: int
    #: What is wrong with it.
    kind: str
    topic: str
    queue_id: int
    queue_offset: int


class DamageCheck(TypedDict):
    """The walk through old files that searches for damage."""

    is_walking: bool
    checked_bytes: int
    total_bytes: int


class Damage(TypedDict):
    """What is known of damaged messages."""

    count: int
    #: Whether there are more than the broker keeps.
    is_full: bool
    #: The newest ones.
    places: list[DamagedPlace]
    check: DamageCheck


class DamageOfLog(TypedDict):
    """The part of the commit log that the health rules need."""

    damage: Damage


class LogRange(TypedDict):
    """Where a commit log begins, and where it ends."""

    min: int
    max: int


class LogOffsets(LogRange):
    """How far a commit log has got."""

    #: Everything before it is on the disk.
    flushed: int
    #: Everything before it is in the consume queues.
    dispatched: int


class CommitLog(LogOffsets, DamageOfLog):
    """The commit log."""

    #: The last ones.
    files: list[LogFile]
    file_count: int
    #: The newest records, newest last.
    records: list[RecordSummary]
