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
    """A context in which Python starts no full collections by itself."""

    #: Since the last full collection. Of the whole process, as the collector is.
    _freed_events: ClassVar[int] = 0

    def __init__(self) -> None:
        self._thresholds = gc.get_threshold()
        self._counted = 0

    def __enter__(self) -> FullCollections:
        self._thresholds = gc.get_threshold()
        self._counted = _smaller_collections()
        gc.set_threshold(*self._thresholds[:2], _NEVER)
        return self

    def __exit__(self, *_: object) -> None:
        gc.set_threshold(*self._thresholds)

    def collect_if_due(self, *, is_quiet: bool) -> bool:
        """Run a full collection when it is due. ``is_quiet``: no request waits for the lab now."""
        smaller = _smaller_collections() - self._counted
        if is_quiet:
            is_due = smaller >= QUIET_AFTER or self._freed_events >= QUIET_AFTER_FREED_EVENTS
        else:
            is_due = smaller >= AT_LATEST_AFTER or self._freed_events >= AT_LATEST_AFTER_FREED_EVENTS
        if is_due:
            FullCollections._freed_events = 0
            gc.collect()
            self._counted = _smaller_collections()
        return is_due

    @staticmethod
    def note_freed(events: int) -> None:
        """Note that a run with that number of events is over."""
        FullCollections._freed_events += events


def _smaller_collections() -> int:
    """Return how often Python has examined more than the youngest objects. In Python 3.14 the youngest and a part of
    all others at a time; ``gc.get_count`` no longer counts these.
    """
    collections: int = gc.get_stats()[1]["collections"]
    return collections
