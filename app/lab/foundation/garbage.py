"""When Python looks for garbage among everything that lives.

Such a full collection stops all threads. With a dozen copies of a world of ten thousand events it takes some fifty
milliseconds, and by itself Python begins one in the midst of any work, also while somebody waits for an answer. So as
long as the lab's thread lives it chooses the moment: when nobody waits for anything.
"""

from __future__ import annotations

import gc

#: A full collection is worth while after so many of the smaller ones; when there is never a quiet moment it has to be
#: after so many.
QUIET_AFTER = 10
AT_LATEST_AFTER = 400

#: For Python: never by itself.
_NEVER = 1_000_000_000


class FullCollections:
    """As a context it keeps Python from beginning full collections by itself."""

    def __init__(self) -> None:
        self._thresholds = gc.get_threshold()

    def __enter__(self) -> FullCollections:
        self._thresholds = gc.get_threshold()
        gc.set_threshold(*self._thresholds[:2], _NEVER)
        return self

    def __exit__(self, *_: object) -> None:
        gc.set_threshold(*self._thresholds)

    def collect_if_due(self, *, is_quiet: bool) -> bool:
        """Collect if enough has come together. ``is_quiet``: nobody waits for the lab now."""
        is_due = gc.get_count()[2] >= (QUIET_AFTER if is_quiet else AT_LATEST_AFTER)
        if is_due:
            gc.collect()
        return is_due
