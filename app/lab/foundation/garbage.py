"""When Python's garbage collector examines all objects.

Such a full collection stops all threads. With a dozen copies of a world of ten thousand events it takes some fifty
milliseconds, and by itself Python starts one in the middle of any work, also while a request waits for an answer. So
while the lab's thread runs, it chooses the moment: when no request waits.
"""

from __future__ import annotations

import gc

#: Smaller collections after which a full one is worthwhile, and after which it must run even without a quiet moment.
QUIET_AFTER = 10
AT_LATEST_AFTER = 400

#: A threshold that Python never reaches by itself.
_NEVER = 1_000_000_000


class FullCollections:
    """A context in which Python starts no full collections by itself."""

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
        is_due = gc.get_count()[2] >= (QUIET_AFTER if is_quiet else AT_LATEST_AFTER)
        if is_due:
            gc.collect()
        return is_due
