"""How many messages a stream's watermark has left out: those that were read, less those that windows have counted.

Spark's own figure (``numRowsDroppedByWatermark``) counts rows after a first aggregation, several messages each.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from engine.pipeline.jobs.report import JobReport
from engine.pipeline.jobs.shared_files import SharedFiles

if TYPE_CHECKING:
    from engine.pipeline.jobs.traffic.picture import WindowFigures

#: Name of the observation, and of its only figure.
OBSERVATION, OBSERVED = "traffic", "messages"
#: Windows whose counts are remembered; older ones have long been closed by the watermark.
_WINDOWS_MAX = 10_000


class LateCount(StreamingQueryListener):
    """Told of each micro-batch twice: by :meth:`counted` what its windows hold, by Spark how much it has read.

    The counts are kept below ``folder``, so that a restart does not take a window's old messages for new ones.
    """

    def __init__(self, report: JobReport, files: SharedFiles) -> None:
        self._report = report
        self._files = files
        self._lock = threading.Lock()
        #: Micro-batches of which only one side is known.
        self._counted: dict[int, int] = {}
        self._read: dict[int, int] = {}
        self.messages = 0
        self.late = 0

    def counted(self, batch_id: int, windows: Iterable[WindowFigures]) -> None:
        """The windows that micro-batch ``batch_id`` has changed, with all that they hold now."""
        known = self._known_before(batch_id)
        added = 0
        for window in windows:
            key = f"{window.start_ms} {window.topic}"
            added += window.messages - known.get(key, 0)
            known[key] = window.messages
        newest = sorted(known, key=lambda key: int(key.split(" ", 1)[0]))[-_WINDOWS_MAX:]
        name = f"{batch_id}.json"
        self._files.delete(name)
        self._files.write_new(name, json.dumps({key: known[key] for key in newest}))
        for old in self._numbers():
            if old < batch_id - 1:
                self._files.delete(f"{old}.json")
        with self._lock:
            self._counted[batch_id] = added
            self._settle(batch_id)

    def _known_before(self, batch_id: int) -> dict[str, int]:
        numbers = [number for number in self._numbers() if number < batch_id]
        if not numbers:
            return {}
        known: dict[str, int] = json.loads(self._files.read(f"{numbers[-1]}.json"))
        return known

    def _numbers(self) -> list[int]:
        names = (name.removesuffix(".json") for name in self._files.names("") if name.endswith(".json"))
        return sorted(int(name) for name in names if name.isdigit())

    def _settle(self, batch_id: int) -> None:
        if batch_id in self._counted and batch_id in self._read:
            read, counted = self._read.pop(batch_id), self._counted.pop(batch_id)
            self.messages += read
            self.late += read - counted
            self._report.table("late", [[self.messages, self.messages - self.late, self.late]])

    # --- as Spark's listener -----------------------------------------------------------------------------------------

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Called by Spark; nothing to do."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Called by Spark after each micro-batch."""
        observed = event.progress.observedMetrics.get(OBSERVATION)
        if observed is not None:
            with self._lock:
                batch_id = event.progress.batchId
                self._read[batch_id] = self._read.get(batch_id, 0) + int(observed[OBSERVED])
                self._settle(batch_id)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Called by Spark; nothing to do."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Called by Spark; nothing to do."""
