"""The driver's state about windows: the newest ones, and sums over all, from which tables and plots are made.

It is bounded for any input: a maximum of windows, and of tags and keys per topic.
"""

from __future__ import annotations

import copy
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.pipeline.jobs.report import Cell, JobReport
from engine.pipeline.jobs.traffic.item_counts import ItemCounts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Rows of (window, topic) that are kept: a day of 10 s windows of one topic. More than the possible number of topics.
WINDOWS_MAX = 8_640


@dataclass(frozen=True, slots=True)
class TrafficWindowFigures:
    """One row of :func:`~engine.pipeline.jobs.traffic.windows.window_figures`.

    :ivar queues: ``broker:queue id`` -> messages; queues without any are not in it. Likewise tags and keys.
    :ivar tags_exact: whether the counts of tags are exact; likewise of keys.
    :ivar tags_all: whether there are no other tags; likewise keys.
    """

    start_ms: int
    topic: str
    messages: int
    bytes: int | None
    p50_ms: int
    p99_ms: int
    max_ms: int
    queues: Mapping[str, int]
    tags: Mapping[str | None, int]
    keys: Mapping[str | None, int]
    tags_exact: bool = True
    tags_all: bool = True
    keys_exact: bool = True
    keys_all: bool = True

    @classmethod
    def of_row(cls, row: Any) -> TrafficWindowFigures:
        """Create the figures from a row of the DataFrame."""
        counts = {name: dict(map(tuple, row[name] or ())) for name in ("queues", "tags", "keys")}
        return cls(**{**row.asDict(), **counts})


def newest_windows(figures: DataFrame) -> tuple[list[TrafficWindowFigures], bool]:
    """Return the newest windows of :func:`~engine.pipeline.jobs.traffic.windows.window_figures`, up to
    :data:`WINDOWS_MAX` rows, each window with all its topics; and whether these are all.
    """
    rows = figures.orderBy("start_ms", ascending=False).limit(WINDOWS_MAX + 1).collect()
    windows = [TrafficWindowFigures.of_row(row) for row in rows]
    if len(windows) <= WINDOWS_MAX:
        return windows, True
    oldest_ms = windows[-1].start_ms
    return [window for window in windows if window.start_ms > oldest_ms], False


class Imbalance(NamedTuple):
    """The imbalance of messages over queues: 1 and 0 when all queues have the same number.

    :ivar max_to_mean: messages in the fullest queue divided by the mean.
    :ivar variation: coefficient of variation: standard deviation divided by the mean.
    """

    max_to_mean: float
    variation: float


def imbalance(counts: Iterable[int], queue_count: int) -> Imbalance:
    """Return the imbalance of the messages per queue; queues that are not in ``counts`` have no messages."""
    known = list(counts)
    known += [0] * (queue_count - len(known))
    mean = fmean(known or [0])
    return Imbalance(max(known) / mean, pstdev(known) / mean) if mean else Imbalance(1.0, 0.0)


class TrafficPicture:
    """Collect windows into tables and points. Thread-safe: windows come from Spark, the clock from another thread.

    :param queue_counts: topic -> number of queues.
    :param patience_ms: how long after its end a window may still grow; its points are reported after that.
    """

    def __init__(
        self, report: JobReport, window_ms: int, top: int, queue_counts: Mapping[str, int], patience_ms: int
    ) -> None:
        self._report = report
        self._window_ms = window_ms
        self._top = top
        self._queue_counts = queue_counts
        self._patience_ms = patience_ms
        self._lock = threading.Lock()
        #: (start, topic) -> its newest figures.
        self._windows: dict[tuple[int, str], TrafficWindowFigures] = {}
        #: Windows whose points were reported, or that were dropped, end here at the latest.
        self._reported_until_ms = -1
        #: Topic -> its newest window whose points were reported.
        self._last_reported_ms: dict[str, int] = {}
        self._dropped: dict[str, WindowSums] = {}
        self.left_out = 0

    def update(self, rows: Iterable[TrafficWindowFigures]) -> None:
        """Add newer figures of some windows, each of them among the newest :data:`WINDOWS_MAX` so far.

        An older one may be forgotten and remain only in the sums, and would be added to them again.
        """
        with self._lock:
            for row in rows:
                self._windows[row.start_ms, row.topic] = row
            self._forget()
            newest = max((start for start, _ in self._windows), default=0)
            self._report_points(newest + self._window_ms - self._patience_ms)
            self._report_tables()

    def close_until(self, now_ms: float) -> None:
        """Close the windows that ended ``patience_ms`` before now: they no longer grow. Infinity closes all."""
        with self._lock:
            self._report_points(now_ms - self._patience_ms)

    def _forget(self) -> None:
        for key in sorted(self._windows)[: max(0, len(self._windows) - WINDOWS_MAX)]:
            dropped = self._windows.pop(key)
            self._dropped.setdefault(dropped.topic, WindowSums()).add(dropped, self._window_ms)
            if dropped.start_ms + self._window_ms > self._reported_until_ms:
                self._last_reported_ms.pop(dropped.topic, None)  # a window that was dropped unreported is not silence
            self.left_out += 1

    # --- plots -------------------------------------------------------------------------------------------------------

    def _report_points(self, until_ms: float) -> None:
        """Report the points of windows that end by ``until_ms``, in order, once each."""
        ready = [key for key in sorted(self._windows) if self._reported_until_ms < key[0] + self._window_ms <= until_ms]
        for key in ready:
            self._report_point(self._windows[key])
        if ready:
            self._reported_until_ms = ready[-1][0] + self._window_ms

    def _report_point(self, window: TrafficWindowFigures) -> None:
        x = window.start_ms
        self._report_silence(window.topic, x)
        self._report.point("throughput", window.topic, x, window.messages * 1_000 / self._window_ms)
        self._report.point("latency", f"{window.topic} p50", x, window.p50_ms)
        self._report.point("latency", f"{window.topic} p99", x, window.p99_ms)
        self._report.point("imbalance", window.topic, x, self._imbalance(window.topic, window.queues).max_to_mean)

    def _report_silence(self, topic: str, until_ms: int) -> None:
        """Report zero for windows without a message: a line across them would show traffic where there was no
        message.
        """
        last_ms = self._last_reported_ms.get(topic)
        self._last_reported_ms[topic] = until_ms
        if last_ms is not None and until_ms - last_ms > self._window_ms:
            for x in dict.fromkeys((last_ms + self._window_ms, until_ms - self._window_ms)):
                self._report.point("throughput", topic, x, 0.0)

    # --- tables ------------------------------------------------------------------------------------------------------

    def _report_tables(self) -> None:
        sums = self._sums()
        newest_first = sorted(self._windows.values(), key=lambda window: (-window.start_ms, window.topic))
        rows = [self._window_row(window) for window in newest_first[: self._report.rows_max]]
        self._report.table("windows", rows, left_out=len(newest_first) - len(rows) + self.left_out)
        self._report.table("topics", [self._topic_row(topic, of_topic) for topic, of_topic in sorted(sums.items())])
        self._report.table("queues", self._queue_rows(sums))
        for name in ("tags", "keys"):
            self._report.table(name, self._item_rows(name, sums))

    def _sums(self) -> dict[str, WindowSums]:
        sums = copy.deepcopy(self._dropped)
        for _, window in sorted(self._windows.items(), key=itemgetter(0)):
            sums.setdefault(window.topic, WindowSums()).add(window, self._window_ms)
        return sums

    def _window_row(self, window: TrafficWindowFigures) -> list[Cell]:
        spread = self._imbalance(window.topic, window.queues)
        per_s = 1_000 / self._window_ms
        figures = window.messages, window.messages * per_s, None if window.bytes is None else window.bytes * per_s
        return [window.start_ms, window.topic, *figures, window.p50_ms, window.p99_ms, window.max_ms, *spread]

    def _topic_row(self, topic: str, sums: WindowSums) -> list[Cell]:
        peak = sums.peak_per_s, sums.peak_ms
        return [topic, sums.messages, sums.bytes, *peak, sums.worst_p99_ms, *self._imbalance(topic, sums.queues)]

    def _queue_rows(self, sums: Mapping[str, WindowSums]) -> list[list[Cell]]:
        """Return rows for the queues, the fullest first."""
        rows: list[list[Cell]] = []
        for topic, of_topic in sums.items():
            mean = of_topic.messages / max(self._queue_counts.get(topic, 0), len(of_topic.queues))
            rows += [
                [topic, queue, count, count / of_topic.messages, count / mean]
                for queue, count in of_topic.queues.items()
            ]
        return sorted(rows, key=lambda row: (-float(row[4] or 0), str(row[0]), str(row[1])))

    def _item_rows(self, name: str, sums: Mapping[str, WindowSums]) -> list[list[Cell]]:
        """Return rows for the most frequent tags or keys of each topic."""
        rows: list[list[Cell]] = []
        for topic, of_topic in sorted(sums.items()):
            counts: ItemCounts = getattr(of_topic, name)
            for item_name, item in counts.top(self._top):
                share = item.messages / of_topic.messages
                is_exact = counts.is_exact(item)
                rows.append([topic, item_name, item.messages, is_exact, share, item.peak_share, item.peak_ms])
        return rows

    def _imbalance(self, topic: str, queues: Mapping[str, int]) -> Imbalance:
        return imbalance(queues.values(), self._queue_counts.get(topic, 0))


@dataclass(slots=True)
class WindowSums:
    """Sums over the windows of one topic."""

    messages: int = 0
    bytes: int | None = None
    peak_per_s: float = 0.0
    peak_ms: int = 0
    worst_p99_ms: int = 0
    queues: Counter[str] = field(default_factory=Counter)
    tags: ItemCounts = field(default_factory=ItemCounts)
    keys: ItemCounts = field(default_factory=ItemCounts)

    def add(self, window: TrafficWindowFigures, window_ms: int) -> None:
        """Add one more window."""
        self.messages += window.messages
        if window.bytes is not None:
            self.bytes = (self.bytes or 0) + window.bytes
        per_s = window.messages * 1_000 / window_ms
        if per_s > self.peak_per_s:
            self.peak_per_s, self.peak_ms = per_s, window.start_ms
        self.worst_p99_ms = max(self.worst_p99_ms, window.p99_ms)
        self.queues.update(window.queues)
        of_window = window.messages, window.start_ms
        self.tags.add(window.tags, *of_window, are_exact=window.tags_exact, are_all=window.tags_all)
        self.keys.add(window.keys, *of_window, are_exact=window.keys_exact, are_all=window.keys_all)
