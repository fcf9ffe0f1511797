"""State in the archive's newest commit: the last batch of each query, and the totals by topic and day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from engine.pipeline.jobs.archive.deduplication import CHANGED, KEPT
from engine.pipeline.jobs.committed_folder import StagedFile
from engine.pipeline.jobs.report import Cell

#: This hidden folder holds the messages that were left out, with all their columns.
COPIES_FOLDER = "_copies"


@dataclass(frozen=True, slots=True)
class DayTotals:
    """Totals of one topic on one day.

    :ivar messages: archived messages, one per business key.
    :ivar copies: left out, with the same body as the archived one.
    :ivar changed: left out although the body differs: the key may not identify the message.
    """

    messages: int = 0
    copies: int = 0
    changed: int = 0
    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class ArchiveState:
    """State of an archive.

    :ivar batches: id of a Spark query -> its last archived micro-batch.
    :ivar days: ``topic=T/day=D`` -> totals.
    :ivar replaced: the files whose messages are in the file of the last merge; they are deleted, or will be.
    """

    batches: Mapping[str, int] = field(default_factory=dict)
    days: Mapping[str, DayTotals] = field(default_factory=dict)
    replaced: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> ArchiveState:
        """Decode what :meth:`to_json` returned; an empty mapping is the empty archive."""
        days = {place: DayTotals(*totals) for place, totals in state.get("days", {}).items()}
        return cls(dict(state.get("batches", {})), days, tuple(state.get("replaced", ())))

    def to_json(self) -> dict[str, Any]:
        """Encode the state for the commit."""
        days = {place: list(astuple(day)) for place, day in self.days.items()}
        return {"batches": dict(self.batches), "days": days, "replaced": list(self.replaced)}

    def has(self, query_id: str, batch_id: int) -> bool:
        """Return whether this micro-batch is archived."""
        return self.batches.get(query_id, -1) >= batch_id

    def after(self, query_id: str, batch_id: int, files: tuple[StagedFile, ...]) -> ArchiveState:
        """Return the state after this micro-batch has added these files."""
        days = dict(self.days)
        for file in files:
            kind, place = kind_and_day(file)
            day = days.get(place, DayTotals())
            if kind == KEPT:
                day = replace(day, messages=day.messages + file.rows, files=day.files + 1, bytes=day.bytes + file.bytes)
            elif kind == CHANGED:
                day = replace(day, changed=day.changed + file.rows)
            else:
                day = replace(day, copies=day.copies + file.rows)
            days[place] = day
        return replace(self, batches={**self.batches, query_id: batch_id}, days=days)

    def after_merge(self, place: str, replaced: Mapping[str, int], files: tuple[StagedFile, ...]) -> ArchiveState:
        """Return the state after these files have replaced others of a topic and day, given with their bytes."""
        day = self.days[place]
        day = replace(
            day,
            files=day.files - len(replaced) + len(files),
            bytes=day.bytes - sum(replaced.values()) + sum(file.bytes for file in files),
        )
        return replace(self, days={**self.days, place: day}, replaced=tuple(replaced))

    def table(self) -> list[list[Cell]]:
        """Return the rows of the table ``archive``: first those where keys hide different messages, then the newest
        days.
        """
        places = sorted(
            self.days, key=lambda place: (self.days[place].changed, topic_and_day(place)[::-1]), reverse=True
        )
        return [[*topic_and_day(place), *astuple(self.days[place])] for place in places]

    def total(self, name: str) -> int:
        """Return the sum of one field of :class:`DayTotals` over all topics and days."""
        return sum(int(getattr(day, name)) for day in self.days.values())


def kind_and_day(file: StagedFile) -> tuple[str, str]:
    """Return ``("kept", "topic=T/day=D")`` for a file that was staged in ``kind=kept/topic=T/day=D``."""
    kind, _, place = file.place.partition("/")
    return kind.removeprefix("kind="), place


def place_in_archive(file: StagedFile) -> str:
    """Return the folder of a staged file: the archive, or the hidden folder of copies."""
    kind, place = kind_and_day(file)
    return place if kind == KEPT else f"{COPIES_FOLDER}/{file.place}"


def topic_and_day(place: str) -> tuple[str, str]:
    """Return topic and day of a place such as ``topic=%25RETRY%25g/day=2026-11-22``; Spark writes ``%25`` for ``%`` in
    folders.
    """
    topic, _, day = place.partition("/")
    return unquote(topic.removeprefix("topic=")), day.removeprefix("day=")
