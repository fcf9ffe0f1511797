"""The lag of a group, and the part of its backlog that is read ahead of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.backlog_relief.relief_folder import MovedRange
from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.texts import Text


@dataclass(frozen=True, slots=True)
class Backlog:
    """The backlog of a group at one moment. Queues without progress are left out, as it is unknown where the group will
    begin.

    :ivar progress: the group's next offset.
    :ivar minima: the oldest offset that still exists.
    :ivar ends: the offset of the next message.
    """

    progress: Mapping[QueueKey, int]
    minima: Mapping[QueueKey, int]
    ends: Mapping[QueueKey, int]

    @property
    def lag(self) -> int:
        """Return the number of messages that the group has not consumed, messages of low priority included."""
        return sum(max(0, self.ends[queue] - offset) for queue, offset in self.progress.items())

    def moved_before(self, ranges: Mapping[QueueKey, MovedRange]) -> int:
        """Return about how many of them are moved aside; exact until the group is inside a range."""
        total = 0.0
        for queue, moved in ranges.items():
            if queue in self.progress and moved.end > moved.start:
                left = max(0, moved.end - max(moved.start, self.progress[queue]))
                total += moved.in_range * left / (moved.end - moved.start)
        return round(total)


def look(cluster: Cluster, group: str, topics: tuple[str, ...]) -> Backlog:
    """Query the brokers. Raises :class:`JobFailed` if the group has no progress in any queue."""
    queues = cluster.queues(topics)
    progress = cluster.group_offsets(group, queues)
    if not progress:
        names = ", ".join(topics)
        raise JobFailed(Text("job.error.no_progress", group=group, names=names))
    return Backlog(progress, cluster.min_offsets(progress), cluster.max_offsets(progress))


def is_long(lag: int, is_active: bool, *, above: int, below: int, follows: bool) -> bool:
    """Return whether messages are to be moved aside when the group lags by ``lag``; ``is_active``: moving has begun.

    Without ``follows``, moving continues until there is nothing left to plan.
    """
    return lag >= below or not follows if is_active else lag > above


def plan(
    backlog: Backlog, ranges: Mapping[QueueKey, MovedRange], left_to_group: int, messages_max: int
) -> dict[QueueKey, tuple[int, int]]:
    """Return what to read next of each queue, ``[from, to)``; queues with nothing to read are left out.

    A range continues where it ended if the group has not reached its end. Otherwise a new one begins, some messages
    ahead of the group: messages that it will have consumed before it learns of the range are useless in it.
    """
    planned: dict[QueueKey, tuple[int, int]] = {}
    share = max(1, messages_max // max(1, len(backlog.progress)))
    for queue, offset in backlog.progress.items():
        moved = ranges.get(queue)
        goes_on = moved is not None and moved.end > max(offset, moved.start)
        start = moved.end if goes_on and moved else offset + left_to_group
        start = max(start, backlog.minima[queue])
        if start < backlog.ends[queue]:
            planned[queue] = start, min(backlog.ends[queue], start + share)
    return planned
