"""What the archive's newest commit knows: which batch each query has brought, and the totals by topic and day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from engine.pipeline.jobs.archive.deduplication import CHANGED, KEPT
from engine.pipeline.jobs.committed_folder import StagedFile
from engine.pipeline.jobs.report import Cell

#: Below this hidden folder are the messages that were left out, with all their columns.
COPIES_FOLDER = "_copies"


@dataclass(frozen=True, slots=True)
class DayTotals:
    """One topic on one day.

    :ivar messages: archived: one per business key.
    :ivar copies: left out, the same body as the archived one.
    :ivar changed: left out although the body differs: the key may not be what makes them one message.
    """

    messages: int = 0
    copies: int = 0
    changed: int = 0
    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class ArchiveState:
    """:ivar batches: id of a Spark query -> the last of its micro-batches that is archived.
    :ivar days: ``topic=T/day=D`` -> totals.
    """

    batches: Mapping[str, int] = field(default_factory=dict)
    days: Mapping[str, DayTotals] = field(default_factory=dict)

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> ArchiveState:
        """The reverse of :meth:`to_json`; nothing is the empty archive."""
        days = {place: DayTotals(*totals) for place, totals in state.get("days", {}).items()}
        return cls(dict(state.get("batches", {})), days)

    def to_json(self) -> dict[str, Any]:
        """For the commit."""
        return {"batches": dict(self.batches), "days": {place: list(astuple(day)) for place, day in self.days.items()}}

    def has(self, query_id: str, batch_id: int) -> bool:
        """Whether this micro-batch is archived."""
        return self.batches.get(query_id, -1) >= batch_id

    def after(self, query_id: str, batch_id: int, files: tuple[StagedFile, ...]) -> ArchiveState:
        """The state when these files are added by this micro-batch."""
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
        return ArchiveState({**self.batches, query_id: batch_id}, days)

    def table(self) -> list[list[Cell]]:
        """Rows of the table ``archive``: where keys hide different messages first, then the newest days."""
        places = sorted(
            self.days, key=lambda place: (self.days[place].changed, topic_and_day(place)[::-1]), reverse=True
        )
        return [[*topic_and_day(place), *astuple(self.days[place])] for place in places]

    def total(self, name: str) -> int:
        """The sum of one field of :class:`DayTotals` over all topics and days."""
        return sum(int(getattr(day, name)) for day in self.days.values())


def kind_and_day(file: StagedFile) -> tuple[str, str]:
    """``("kept", "topic=T/day=D")`` of a file that was staged below ``kind=kept/topic=T/day=D``."""
    kind, _, place = file.place.partition("/")
    return kind.removeprefix("kind="), place


def place_in_archive(file: StagedFile) -> str:
    """Where a staged file belongs: the archive, or the hidden folder of copies."""
    kind, place = kind_and_day(file)
    return place if kind == KEPT else f"{COPIES_FOLDER}/{file.place}"


def topic_and_day(place: str) -> tuple[str, str]:
    """What a place such as ``topic=%25RETRY%25g/day=2026-11-22`` is of; Spark writes ``%25`` for ``%`` in folders."""
    topic, _, day = place.partition("/")
    return unquote(topic.removeprefix("topic=")), day.removeprefix("day=")
