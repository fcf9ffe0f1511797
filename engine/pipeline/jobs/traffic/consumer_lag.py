"""How far consumer groups are behind, asked of the brokers at every interval: no message tells it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from engine.pipeline.jobs.cluster_look import ClusterLook
from engine.pipeline.jobs.report import Cell, JobReport
from engine.pipeline.source.errors import RocketMQError
from engine.pipeline.source.queue_offsets import QueueKey

#: How long the end of the thread is waited for.
_PATIENCE_S = 2.0


class QueueLag(NamedTuple):
    """``offset``: the next message that the group will consume; None: the broker knows of none."""

    group: str
    queue: QueueKey
    offset: int | None
    end: int

    @property
    def lag(self) -> int | None:
        """Messages that the group has not consumed."""
        return None if self.offset is None else max(0, self.end - self.offset)


def look_at_lag(look: ClusterLook, groups: Sequence[str], topics: Sequence[str]) -> list[QueueLag]:
    """Of every group in every queue of the topics."""
    queues = look.queues(topics)
    # Progress before ends: messages that come in between make the lag larger, never negative.
    progress = {group: look.progress(group, queues) for group in groups}
    ends = look.ends(queues)
    return [QueueLag(group, queue, progress[group].get(queue), ends[queue]) for group in groups for queue in queues]


def tell_lag(report: JobReport, lags: Sequence[QueueLag], now_ms: int) -> None:
    """One point per group, and the table, the longest lag first."""
    totals: dict[str, int] = {}
    for one in lags:
        if one.lag is not None:
            totals[one.group] = totals.get(one.group, 0) + one.lag
    for group, total in totals.items():
        report.point("lag", group, now_ms, total)
    worst_first = sorted(lags, key=lambda one: (-(-1 if one.lag is None else one.lag), one.group, one.queue))
    rows: list[Sequence[Cell]] = [
        [one.group, one.queue.topic, one.queue.label, one.offset, one.end, one.lag] for one in worst_first
    ]
    report.table("lag", rows)


class LagWatch:
    """Asks every ``interval_ms`` until it is left; use in a ``with``.

    :param tick: is called at each interval too, with the time in ms.
    """

    def __init__(
        self,
        cluster: Mapping[str, str],
        groups: Sequence[str],
        topics: Sequence[str],
        interval_ms: int,
        report: JobReport,
        tick: Callable[[int], None],
    ) -> None:
        self._cluster = cluster
        self._groups = groups
        self._topics = topics
        self._interval_s = interval_ms / 1_000
        self._report = report
        self._tick = tick
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="consumer lag", daemon=True)
        self._problem = ""

    def __enter__(self) -> LagWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        with ClusterLook(self._cluster) as look:
            while not self._end.is_set():
                now_ms = time.time_ns() // 1_000_000
                self._tick(now_ms)
                if self._groups:
                    self._look(look, now_ms)
                self._end.wait(self._interval_s)

    def _look(self, look: ClusterLook, now_ms: int) -> None:
        try:
            tell_lag(self._report, look_at_lag(look, self._groups, self._topics), now_ms)
            self._problem = ""
        except RocketMQError as error:
            # A broker that is away for a while ends the stream's reading, or not; the lag is no reason to end anything.
            if str(error) != self._problem:
                self._problem = str(error)
                self._report.note({"en": f"The lag is not known: {error}", "zh": f"无法得知消费积压：{error}"})
