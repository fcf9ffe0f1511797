"""The mover: reads ahead of the group, stores messages of low priority, then notifies the group's consumers.

In this order nothing can get lost. If the mover dies between the two, the consumers also process what is stored, and
the next start notifies them. The marks are written again in each round, because a broker that dies may forget the last
seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.jobs.backlog_relief.backlog import Backlog, plan
from engine.pipeline.jobs.backlog_relief.moved_aside import LowPriority, mark_groups
from engine.pipeline.jobs.backlog_relief.relief_folder import MovedBatch, MovedRange, ReliefFolder, ReliefState
from engine.pipeline.jobs.committed_folder import Stage, final_names
from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.queue_offsets import QueueKey

#: Rows of one Parquet file.
ROWS_PER_FILE = 100_000


def is_low(rule: LowPriority) -> Column:
    """Return whether a message has low priority; never null."""
    if rule.tags:
        return F.coalesce(F.col("tags").isin(*rule.tags), F.lit(False))
    value = F.element_at("properties", F.lit(rule.property_name))
    return F.coalesce(value == rule.property_value, F.lit(False))


@dataclass(frozen=True, slots=True)
class Mover:
    """Move messages of low priority aside.

    :ivar read: ``read(ranges)`` returns the messages in ``[from, to)`` of queues.
    """

    cluster: Cluster
    folder: ReliefFolder
    rule: LowPriority
    read: Callable[[Mapping[QueueKey, tuple[int, int]]], DataFrame]

    def move(self, backlog: Backlog, left_to_group: int, messages_max: int) -> tuple[ReliefState, int]:
        """Move one portion aside; return the new state, and how many messages the group may have received before it
        could know.

        Raises :class:`~engine.pipeline.jobs.committed_folder.CommitTaken`: nothing was changed; call it again.
        """
        base, state = self.folder.latest()
        planned = plan(backlog, state.ranges, left_to_group, messages_max)
        if not planned:
            self.report(state)
            return state, 0
        low = self.read(planned).where(is_low(self.rule)).withColumn("day", F.to_date("store_timestamp"))
        # Sorted by place, so that the messages of a sending, a range of offsets, are stored together. One file, unless
        # there are many.
        ordered = low.repartition(1).sortWithinPartitions("topic", "broker_name", "queue_id", "queue_offset")
        stage = self.folder.files.stage(ordered, ("topic", "day"), ROWS_PER_FILE)
        counts = self._count(stage)
        state = state_after(state, planned, counts)
        if stage.files:
            names = tuple(final_names(base, stage).values())
            batches = {**state.batches, base.version + 1: MovedBatch(names, sum(counts.values()))}
            state = replace(state, batches=batches)
        self.folder.commit(base, stage, state)
        self.report(state)
        return state, self._overtaken(planned, counts)

    def report(self, state: ReliefState) -> None:
        """Set the marks, ``from`` before ``to``, so that no reader sees a range that is too wide."""
        from_group, to_group = mark_groups(state.group, self.rule)
        # Also finds the brokers' present addresses. Queues may have been removed since: brokers refuse those.
        queues = self.cluster.queues(sorted({queue.topic for queue in state.ranges}))
        ranges = {queue: state.ranges[queue] for queue in queues if queue in state.ranges}
        self.cluster.store_group_offsets(from_group, {queue: moved.start for queue, moved in ranges.items()})
        self.cluster.store_group_offsets(to_group, {queue: moved.end for queue, moved in ranges.items()})

    def _count(self, stage: Stage) -> dict[QueueKey, int]:
        if not stage.files:
            return {}
        rows = self.folder.read([file.name for file in stage.files], stage.folder)
        counted = rows.groupBy("topic", "broker_name", "queue_id").count().collect()
        return {QueueKey(row[0], row[1], row[2]): int(row[3]) for row in counted}

    def _overtaken(self, planned: Mapping[QueueKey, tuple[int, int]], counts: Mapping[QueueKey, int]) -> int:
        """Return the most messages that may have been both moved and consumed because the group's progress reached the
        range meanwhile.
        """
        progress = self.cluster.group_offsets(self.folder.group, planned)
        return sum(
            min(max(0, progress[queue] - start), counts.get(queue, 0))
            for queue, (start, _) in planned.items()
            if queue in progress
        )


def state_after(
    state: ReliefState, planned: Mapping[QueueKey, tuple[int, int]], counts: Mapping[QueueKey, int]
) -> ReliefState:
    """Return the state after the ``counts`` low messages of the ``planned`` offsets are stored."""
    ranges = dict(state.ranges)
    for queue, (start, end) in planned.items():
        low = counts.get(queue, 0)
        old = ranges.get(queue, MovedRange(start, start))
        goes_on = old.end == start
        ranges[queue] = MovedRange(
            start=old.start if goes_on else start,
            end=end,
            in_range=low + (old.in_range if goes_on else 0),
            moved=old.moved + low,
            kept=old.kept + (end - start - low),
        )
    return replace(state, ranges=ranges)
