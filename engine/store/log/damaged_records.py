"""The messages of the store that turned out to be damaged since its start. RocketMQ has no such list."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from engine.store.log.record_check import RecordDamage

_log = logging.getLogger("glassmq.store")

#: The maximum number of positions that are remembered and so counted. A lost file may have contained far more messages
#: than a person would read about.
PLACES_MAX: Final = 10_000
#: How many positions are logged one by one.
LINES_MAX: Final = 100


class DamagedRecord(NamedTuple):
    """A damaged message; topic and queue are unknown if the damage was not found through a queue."""

    commit_log_offset: int
    damage: RecordDamage
    topic: str = ""
    queue_id: int = -1
    queue_offset: int = -1


class DamagedRecords:
    """A list of the damaged messages.

    :ivar found: how many were found since the start; it stops at :data:`PLACES_MAX` at a time.
    """

    def __init__(self) -> None:
        self._by_place: dict[int, DamagedRecord] = {}
        self.found = 0

    def __len__(self) -> int:
        return len(self._by_place)

    def __contains__(self, record: DamagedRecord) -> bool:
        return self._by_place.get(record.commit_log_offset) == record

    @property
    def is_full(self) -> bool:
        """Return True if there may be more damaged records than are counted."""
        return len(self._by_place) >= PLACES_MAX

    def newest(self, count: int) -> list[DamagedRecord]:
        """Return the ``count`` that were found last, the newest first."""
        return list(islice(reversed(self._by_place.values()), count))

    def note(self, record: DamagedRecord) -> None:
        """Count ``record`` and log it, unless that was done before."""
        known = self._by_place.get(record.commit_log_offset)
        if known is not None:
            if not known.topic:  # a scan of the log does not know which queue the message belongs to, a reader does
                self._by_place[record.commit_log_offset] = record
            return
        if self.is_full:
            return
        self._by_place[record.commit_log_offset] = record
        self.found += 1
        if self.found <= LINES_MAX:
            place = f"topic {record.topic}, queue {record.queue_id}, offset {record.queue_offset}, " * bool(
                record.topic
            )
            _log.error(
                "a damaged message is not sent: commit log position %d, %s%s",
                record.commit_log_offset,
                place,
                record.damage.value,
            )
        elif self.found in (LINES_MAX + 1, PLACES_MAX):
            _log.error("%d damaged messages are not sent; glassmq check names all of them", self.found)

    def forget(self, places: Iterable[int]) -> None:
        """Forget messages that were repaired."""
        for place in places:
            self._by_place.pop(place, None)

    def forget_before(self, commit_log_offset: int) -> None:
        """Forget messages before an offset, whose files were deleted."""
        self.forget([place for place in self._by_place if place < commit_log_offset])
