"""Reports of a running job: progress, results, and Spark's position in each queue.

The driver writes it as lines of JSON (:class:`JsonLinesReport`); the command line and the page read those lines.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, TypeVar

from engine.pipeline.jobs.description import Texts

_T = TypeVar("_T")

#: A cell of a result table. Timestamps are milliseconds since 1970.
Cell = str | int | float | bool | None
#: A cell that may also be a sentence in both languages.
AnyCell = Cell | Texts
#: topic -> "broker:queue id" -> the next offset that Spark will read there.
QueueOffsets = Mapping[str, Mapping[str, int]]
#: Most rows of a table that a page shows; a job puts the worst first.
ROWS_MAX = 500
#: For reports without such a limit.
ALL_ROWS = (1 << 31) - 1


def fair_share(kinds: Iterable[list[_T]], limit: int) -> list[_T]:
    """Return at most ``limit`` rows of several kinds, kind by kind: none hides another that has fewer rows."""
    several = list(kinds)
    left, shares = limit, dict.fromkeys(range(len(several)), 0)
    for waiting, index in enumerate(sorted(shares, key=lambda index: len(several[index]))):
        shares[index] = min(len(several[index]), left // (len(several) - waiting))
        left -= shares[index]
    return [row for index, rows in enumerate(several) for row in rows[: shares[index]]]


class JobReport:
    """The interface through which a job reports. Methods may be called from any thread and do not block for long.

    Each of them writes an event with :meth:`write`; a report that shows some of them differently overrides those.

    :ivar rows_max: most rows of a table that are reported; a job shares them among the kinds of its findings.
    """

    rows_max = ROWS_MAX

    def write(self, event: str, **fields: Any) -> None:
        """Write one event; this base class discards it."""

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Report ``done`` of ``total`` (None: unknown) in ``unit``: ``"messages"``, ``"seeds"``, ``"tasks"``."""
        self.write("progress", done=done, total=total, unit=unit)

    def planning(self) -> None:
        """Report, several times a second, that Spark has no tasks: the job plans, or computes in the driver."""

    def working(self) -> None:
        """Report, several times a second, that the tasks last reported are still running."""

    def table(self, name: str, rows: Sequence[Sequence[AnyCell]], *, left_out: int = 0) -> None:
        """Report the rows of a described table; ``left_out`` more exist. If there are too many rows, the first are
        kept.
        """
        left_out += max(0, len(rows) - self.rows_max)
        self.write("table", name=name, rows=rows[: self.rows_max], left_out=left_out)

    def point(self, plot: str, series: str, x: float, y: float) -> None:
        """Report one more point of a described plot."""
        self.write("point", plot=plot, series=series, x=x, y=y)

    def offsets(self, reached: QueueOffsets, latest: QueueOffsets | None = None) -> None:
        """Report how far the job has read, and where the queues ended when it checked."""
        self.write("offsets", reached=reached, latest=latest)

    def batch(self, progress: Mapping[str, Any]) -> None:
        """Report the figures of one micro-batch, made by the query listener of
        :mod:`engine.pipeline.jobs.query_progress`.
        """
        self.write("batch", **progress)

    def note(self, text: Mapping[str, str]) -> None:
        """Report a sentence for the user, in both languages: ``{"en": ..., "zh": ...}``."""
        self.write("note", text=text)


class JsonLinesReport(JobReport):
    """A report that writes each event as one line ``{"event": NAME, ...}`` to ``stream``."""

    def __init__(self, stream: IO[str], rows_max: int = ROWS_MAX) -> None:
        self.rows_max = rows_max
        self._phase = ""
        self._stream = stream
        self._lock = threading.Lock()

    def planning(self) -> None:
        self._enter("planning")

    def working(self) -> None:
        self._enter("working")

    def progress(self, done: int, total: int | None, unit: str) -> None:
        if unit == "tasks":
            self.working()
        super().progress(done, total, unit)

    def _enter(self, phase: str) -> None:
        """Write a change of the phase: these calls come several times a second."""
        if phase != self._phase:
            self._phase = phase
            self.write("phase", phase=phase)

    def write(self, event: str, **fields: Any) -> None:
        """Write one line. Also used for events outside a job's control: started, ended, failed."""
        line = json.dumps({"event": event, **fields}, ensure_ascii=False, separators=(",", ":"), default=dict)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()
