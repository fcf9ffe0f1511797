"""When Python's garbage collector examines all objects.

Such a full collection stops all threads. With a dozen copies of a world of ten thousand events it takes some fifty
milliseconds, and by itself Python starts one in the middle of any work, also while a request waits for an answer. So
while the lab's thread runs, it chooses the moment: when no request waits.
"""

from __future__ import annotations

import gc
from typing import ClassVar

#: Smaller collections after which a full one is worthwhile, and after which it must run even without a quiet moment.
QUIET_AFTER = 10
AT_LATEST_AFTER = 400

#: Events of freed runs after which one is worthwhile, and after which it must run: some ten megabytes. A run that is
#: over is one large cycle, and smaller collections may take minutes to find it.
QUIET_AFTER_FREED_EVENTS = 5_000
AT_LATEST_AFTER_FREED_EVENTS = 20_000

#: A threshold that Python never reaches by itself.
_NEVER = 1_000_000_000


class FullCollections:
    """A context in which Python starts no full collections by itself.

    All is counted for the whole process, as the collector works: a full collection is one for all its labs. Labs that
    count by themselves would each start their own, and a process with twenty would do nothing else.
    """

    _freed_events: ClassVar[int] = 0
    #: How many full collections there had been, and smaller ones, when this was seen last.
    _seen: ClassVar[tuple[int, int]] = (0, 0)

    def __init__(self) -> None:
        self._thresholds = gc.get_threshold()

    def __enter__(self) -> FullCollections:
        self._thresholds = gc.get_threshold()
        gc.set_threshold(*self._thresholds[:2], _NEVER)
        return self

    def __exit__(self, *_: object) -> None:
        gc.set_threshold(*self._thresholds)

    def collect_if_due(self, *, is_quiet: bool) -> bool:
        """Run a full collection when it is due. ``is_quiet``: no request waits for the lab now."""
        smaller = self._smaller_collections()
        if is_quiet:
            is_due = smaller >= QUIET_AFTER or self._freed_events >= QUIET_AFTER_FREED_EVENTS
        else:
            is_due = smaller >= AT_LATEST_AFTER or self._freed_events >= AT_LATEST_AFTER_FREED_EVENTS
        if is_due:
            gc.collect()
            self._smaller_collections()
        return is_due

    @staticmethod
    def note_freed(events: int) -> None:
        """Note that a run with that number of events is over."""
        FullCollections._freed_events += events

    @staticmethod
    def _smaller_collections() -> int:
        """Return how often Python has examined more than the youngest objects since a full collection.

        ``gc.get_count`` knows this too, but no longer in Python 3.14, which examines a part of the others each time.
        """
        _, smaller, full = (generation["collections"] for generation in gc.get_stats())
        if full != FullCollections._seen[0]:
            FullCollections._seen = (full, smaller)
            FullCollections._freed_events = 0
        counted: int = smaller - FullCollections._seen[1]
        return counted
