"""Count of messages that a stream's watermark has dropped: messages read less messages counted in windows.

Spark's own figure (``numRowsDroppedByWatermark``) counts rows after a first aggregation, several messages each.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from engine.pipeline.jobs.report import JobReport
from engine.pipeline.jobs.shared_files import SharedFiles
from engine.pipeline.jobs.traffic.picture import WINDOWS_MAX, TrafficWindowFigures
from engine.texts import Text

#: Name of the observation, and of its only figure.
OBSERVATION, OBSERVED = "traffic", "messages"


@dataclass(slots=True)
class _Known:
    """Contents of the newest windows, up to ``WINDOWS_MAX`` of them.

    :ivar counts: (start, topic) -> messages.
    :ivar floor_ms: windows that begin before it are forgotten. Later messages of such a window are not
        distinguishable from its old ones, so they are left out.
    """

    counts: dict[tuple[int, str], int] = field(default_factory=dict)
    floor_ms: int | None = None

    @classmethod
    def from_json(cls, text: str) -> _Known:
        state: dict[str, Any] = json.loads(text)
        return cls({(start, topic): messages for start, topic, messages in state["counts"]}, state["floor_ms"])

    def to_json(self) -> str:
        counts = [[start, topic, messages] for (start, topic), messages in self.counts.items()]
        return json.dumps({"counts": counts, "floor_ms": self.floor_ms})

    def followed(self, windows: Sequence[TrafficWindowFigures]) -> list[TrafficWindowFigures]:
        """Return the windows that are not forgotten."""
        return [window for window in windows if self.floor_ms is None or window.start_ms >= self.floor_ms]

    def take(self, windows: Sequence[TrafficWindowFigures]) -> int:
        """Return how many messages these windows hold that they did not hold before."""
        added = 0
        for window in windows:
            key = window.start_ms, window.topic
            added += window.messages - self.counts.get(key, 0)
            self.counts[key] = window.messages
        return added

    def forget(self, before_ms: int | None) -> None:
        """Forget windows that begin before that time, and the oldest ones, with all their topics, if there are too
        many.
        """
        newest = sorted(self.counts, reverse=True)
        floors = [ms for ms in (self.floor_ms, before_ms) if ms is not None]
        if len(newest) > WINDOWS_MAX:
            floors.append(newest[WINDOWS_MAX][0] + 1)
        if floors:
            floor_ms = self.floor_ms = max(floors)
            self.counts = {key: messages for key, messages in self.counts.items() if key[0] >= floor_ms}


class LateCount(StreamingQueryListener):
    """Count dropped messages. For each micro-batch, :meth:`counted` receives what its windows hold, and Spark reports
    how much it has read.

    The counts are stored in ``folder``, so that a restart does not count a window's old messages as new ones.
    """

    def __init__(self, report: JobReport, files: SharedFiles) -> None:
        self._report = report
        self._files = files
        self._lock = threading.Lock()
        #: Micro-batches of which only one side is known.
        self._counted: dict[int, int] = {}
        self._read: dict[int, int] = {}
        self._has_said_so = False
        self.messages = 0
        self.late = 0

    def counted(
        self, batch_id: int, windows: Sequence[TrafficWindowFigures], *, are_all: bool
    ) -> list[TrafficWindowFigures]:
        """Note the windows that micro-batch ``batch_id`` has changed, with all that they hold now; ``are_all`` False:
        only the newest ones. Return those that count; messages of the others are reported as left out.
        """
        text = self._files.state_before(batch_id)
        known = _Known() if text is None else _Known.from_json(text)
        followed = known.followed(windows)
        if (not are_all or len(followed) < len(windows)) and not self._has_said_so:
            self._has_said_so = True
            self._report.note(Text("job.note.too_many_open_windows", most=f"{WINDOWS_MAX:,}"))
        added = known.take(followed)
        known.forget(None if are_all else min(window.start_ms for window in windows))
        self._files.keep_state(batch_id, known.to_json())
        with self._lock:
            self._counted[batch_id] = added
            self._settle(batch_id)
        return followed

    def _settle(self, batch_id: int) -> None:
        if batch_id in self._counted and batch_id in self._read:
            read, counted = self._read.pop(batch_id), self._counted.pop(batch_id)
            self.messages += read
            self.late += read - counted
            self._report.table("late", [[self.messages, self.messages - self.late, self.late]])

    # --- as Spark's listener -----------------------------------------------------------------------------------------

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        ...

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Note how much a micro-batch has read; called by Spark."""
        observed = event.progress.observedMetrics.get(OBSERVATION)
        if observed is not None:
            with self._lock:
                batch_id = event.progress.batchId
                self._read[batch_id] = self._read.get(batch_id, 0) + int(observed[OBSERVED])
                self._settle(batch_id)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        ...
