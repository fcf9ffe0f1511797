"""Locks on queues: those that a broker leases to orderly consumers, and those within one consumer."""

from __future__ import annotations

from typing import TypedDict


class QueueLock(TypedDict):
    """A lease of a queue in the broker's lock table, which has expired leases until they are replaced."""

    client_id: str
    #: When it was granted or renewed.
    since_ms: int
    age_ms: int
    #: How long it lasts without renewal.
    lease_ms: int


class NamedQueueLock(QueueLock):
    """A lease together with the queue and the group that it is for."""

    group: str
    topic: str
    queue_id: int


class LocalLock(TypedDict):
    """A lock inside one consumer."""

    #: Name of the task that holds it; None: it is free.
    owner: str | None
    #: Names of the tasks that wait for it, the next one first.
    waiters: list[str]
    #: False: a switch of the lab has turned it off.
    on: bool
