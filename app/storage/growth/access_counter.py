"""Counts accesses to a disk while they happen, in bounded memory."""

from __future__ import annotations

from app.storage.growth.result import WritePlace
from engine.runtime.traced_disk import AccessKind, DiskAccess

#: Writes that are kept for the picture; when there are more, every second one is dropped, again and again.
PATTERN_MAX = 400


class AccessCounter:
    """Counts of disk accesses.

    :ivar open_max: the most files that were open at the same time.
    :ivar log_files: file with records -> its number, in the order of creation.
    :ivar reads: reads since it was last emptied; kept only while ``keeps_reads``.
    """

    def __init__(self, log_marker: str) -> None:
        self._log_marker = log_marker
        self._open = 0
        self.open_max = 0
        self.log_files: dict[str, int] = {}
        self.keeps_reads = False
        self.reads: list[DiskAccess] = []
        self._pattern: list[WritePlace] = []
        self._writes = 0
        self._every = 1

    def note(self, access: DiskAccess) -> None:
        """Count an access that a traced disk reports."""
        match access.kind:
            case AccessKind.OPEN:
                self._open += 1
                self.open_max = max(self.open_max, self._open)
            case AccessKind.CLOSE:
                self._open -= 1
            case AccessKind.READ if self.keeps_reads:
                self.reads.append(access)
            case AccessKind.WRITE if self._log_marker in access.path:
                self._written(access)
            case _:
                pass

    def _written(self, access: DiskAccess) -> None:
        number = self.log_files.setdefault(access.path, len(self.log_files))
        if self._writes % self._every == 0:
            self._pattern.append(WritePlace(number, access.position))
            if len(self._pattern) > PATTERN_MAX:
                self._pattern = self._pattern[::2]
                self._every *= 2
        self._writes += 1

    @property
    def pattern(self) -> tuple[WritePlace, ...]:
        """Return writes of records, in order, thinned out evenly."""
        return tuple(self._pattern)
