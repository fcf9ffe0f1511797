"""What a running job tells: progress, results, and how far Spark has come in each queue.

The driver writes it as lines of JSON (:class:`JsonLinesReport`); the command line and the page read those lines.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any

from engine.pipeline.jobs.description import Texts

#: A cell of a result table. Timestamps are milliseconds since 1970.
Cell = str | int | float | bool | None
#: The same; sentences may be told in both languages.
AnyCell = Cell | Texts
#: topic -> "broker:queue id" -> the next offset that Spark will read there.
QueueOffsets = Mapping[str, Mapping[str, int]]
#: Rows of a table that are told; a job puts the worst first. More would drown page and terminal.
ROWS_MAX = 500


class JobReport:
    """Where a job tells what it does. Methods may be called from any thread and do not block for long.

    Each of them is an event for :meth:`write`; a report that shows some of them in its own way overrides those.
    """

    def write(self, event: str, **fields: Any) -> None:
        """Tell one event; here there is nobody to tell."""

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """``done`` of ``total`` (None: nobody knows) in ``unit``: ``"messages"``, ``"seeds"``, ``"tasks"``."""
        self.write("progress", done=done, total=total, unit=unit)

    def table(self, name: str, rows: Sequence[Sequence[AnyCell]], *, left_out: int = 0) -> None:
        """The rows of a described table, now; ``left_out`` more exist. Of too many rows the first are kept."""
        self.write("table", name=name, rows=rows[:ROWS_MAX], left_out=left_out + max(0, len(rows) - ROWS_MAX))

    def point(self, plot: str, series: str, x: float, y: float) -> None:
        """One more point of a described plot."""
        self.write("point", plot=plot, series=series, x=x, y=y)

    def offsets(self, reached: QueueOffsets, latest: QueueOffsets | None = None) -> None:
        """How far the job has read, and where the queues ended when it looked."""
        self.write("offsets", reached=reached, latest=latest)

    def batch(self, progress: Mapping[str, Any]) -> None:
        """Figures of one micro-batch; made by the query listener, see :mod:`engine.pipeline.jobs.query_progress`."""
        self.write("batch", **progress)

    def note(self, text: Mapping[str, str]) -> None:
        """A sentence for the user, in both languages: ``{"en": ..., "zh": ...}``."""
        self.write("note", text=text)


class JsonLinesReport(JobReport):
    """Writes each event as one line ``{"event": NAME, ...}`` to ``stream``."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, event: str, **fields: Any) -> None:
        """One line. Also for what is no job's business: started, ended, failed."""
        line = json.dumps({"event": event, **fields}, ensure_ascii=False, separators=(",", ":"), default=dict)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()
