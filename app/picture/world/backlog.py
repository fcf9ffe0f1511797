"""The lag of the groups of a world over time."""

from __future__ import annotations

from typing import TypedDict

#: Broker, topic, queue id.
QueueName = list[str | int]
#: Time in us, stored, done, lag of each queue, members, owners.
BacklogPoint = list[int | list[int]]


class GroupBacklog(TypedDict):
    """The lag of one group: stored - done."""

    #: In the order of the lags of a point.
    queues: list[QueueName]
    #: After each change. ``stored`` and ``done`` count messages of all queues; ``owners`` of the members have a queue.
    series: list[BacklogPoint]
    #: The greatest lag so far.
    peak: int
    peak_us: int


class Backlog(TypedDict):
    """The lag of all groups that consume in clustering mode."""

    groups: dict[str, GroupBacklog]
