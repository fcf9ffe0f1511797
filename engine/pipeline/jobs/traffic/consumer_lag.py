"""Lag of consumer groups, requested from the brokers at every interval: no message contains it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from engine.pipeline.jobs.report import Cell, JobReport
from engine.pipeline.source.cluster.cluster import Cluster, open_cluster
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.protocol.body import question
from engine.texts import Text

log = logging.getLogger("glassmq.pipeline")

#: How long the end of the thread is awaited.
_PATIENCE_S = 2.0


class QueueLag(NamedTuple):
    """The position of a group in a queue. ``offset``: the next message that the group will consume; None if the broker
    has no offset.
    """

    group: str
    queue: QueueKey
    offset: int | None
    end: int

    @property
    def lag(self) -> int | None:
        """Return how many messages the group has not consumed."""
        return None if self.offset is None else max(0, self.end - self.offset)


class LagLook(NamedTuple):
    """A sample of the lag.

    :ivar lags: of each group in the topics that it consumes.
    :ivar refused: group -> the broker's answer to an account that may not read its progress.
    :ivar idle: groups that consume none of the topics.
    """

    lags: list[QueueLag]
    refused: Mapping[str, str] = MappingProxyType({})
    idle: Sequence[str] = ()


def look_at_lag(cluster: Cluster, groups: Sequence[str], topics: Sequence[str]) -> LagLook:
    """Return the lag of each group in the queues of those topics that it consumes. Raises :class:`RocketMQError`.

    Brokers answer 0 for a group that never consumed a young topic, so its offsets alone do not tell.
    """
    queues = cluster.queues(topics)
    # Progress before ends: messages that arrive in between make the lag larger, never negative.
    progress: dict[str, dict[QueueKey, int | None]] = {}
    refused: dict[str, str] = {}
    for group in groups:
        try:
            consumed = _consumed_topics(cluster, group, queues)
            of_group = [queue for queue in queues if queue.topic in consumed]
            offsets = cluster.group_offsets(group, of_group)
        except RocketMQError as error:
            if error.condition != "ROCKETMQ_REFUSED":
                raise
            refused[group] = str(error)
            continue
        progress[group] = {queue: offsets.get(queue) for queue in of_group}
    ends = cluster.max_offsets(queues)
    lags = [
        QueueLag(group, queue, offset, ends[queue])
        for group, of_group in progress.items()
        for queue, offset in of_group.items()
    ]
    return LagLook(lags, refused, [group for group, of_group in progress.items() if not of_group])


def _consumed_topics(cluster: Cluster, group: str, queues: Sequence[QueueKey]) -> frozenset[str]:
    one_of_each_broker = {queue.broker_name: queue for queue in queues}.values()
    answers = cluster.ask_queues(one_of_each_broker, lambda _: question.consumed_topics(group), group=group)
    return frozenset().union(*answers.values())


class LagReporter:
    """Report the lag, and each problem once."""

    def __init__(self, report: JobReport) -> None:
        self._report = report
        #: Group, or "" for all of them -> the last note.
        self._notes: dict[str, Text] = {}

    def report(self, seen: LagLook, now_ms: int) -> None:
        """Report one point per group, and the table with the longest lag first."""
        totals: dict[str, int] = {}
        for one in seen.lags:
            if one.lag is not None:
                totals[one.group] = totals.get(one.group, 0) + one.lag
        for group, total in totals.items():
            self._report.point("lag", group, now_ms, total)
        worst_first = sorted(seen.lags, key=lambda one: (-(-1 if one.lag is None else one.lag), one.group, one.queue))
        rows: list[Sequence[Cell]] = [
            [one.group, one.queue.topic, one.queue.label, one.offset, one.end, one.lag] for one in worst_first
        ]
        self._report.table("lag", rows)
        notes = {group: _unknown(problem, group) for group, problem in seen.refused.items()}
        self._note_new(notes | {group: Text("job.note.lag_of_idle", group=group) for group in seen.idle})

    def report_problem(self, problem: str) -> None:
        """Report that no sample could be taken."""
        self._note_new({"": _unknown(problem)})

    def _note_new(self, notes: dict[str, Text]) -> None:
        for group, note in notes.items():
            if self._notes.get(group) != note:
                self._report.note(note)
        self._notes = notes


def _unknown(problem: str, group: str = "") -> Text:
    lag = Text("job.note.lag_of", group=group) if group else Text("job.note.lag")
    return Text("job.note.lag_unknown", lag=lag, problem=problem)


@contextmanager
def watched_lag(
    cluster: Mapping[str, str],
    groups: Sequence[str],
    topics: Sequence[str],
    interval_ms: int,
    report: JobReport,
    tick: Callable[[int], None],
) -> Iterator[None]:
    """Sample the lag every ``interval_ms`` in a separate thread, until the block ends.

    :param tick: called at each interval, too, with the time in ms.
    """
    reporter, end = LagReporter(report), threading.Event()

    def run() -> None:
        with open_cluster(cluster) as connected:
            while not end.is_set():
                now_ms = time.time_ns() // 1_000_000
                tick(now_ms)
                if groups:
                    _look(reporter, connected, groups, topics, now_ms)
                end.wait(interval_ms / 1_000)

    thread = threading.Thread(target=run, name="consumer lag", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join(_PATIENCE_S)


def _look(reporter: LagReporter, cluster: Cluster, groups: Sequence[str], topics: Sequence[str], now_ms: int) -> None:
    # Whatever the error is, it must not end the job: if a broker is away, the stream decides for itself.
    try:
        reporter.report(look_at_lag(cluster, groups, topics), now_ms)
    except RocketMQError as error:
        reporter.report_problem(str(error))
    except Exception as error:
        log.exception("the consumer lag could not be asked for")
        reporter.report_problem(f"{type(error).__name__}: {error}")
