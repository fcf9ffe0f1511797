"""Locks on queues: those that a broker leases to orderly consumers, and those within one consumer."""

from __future__ import annotations

from typing import TypedDict


class Lock(TypedDict):
    """A lease of a queue in the broker's lock table, which has expired leases until they are replaced."""

    topic: str
    queue_id: int
    client_id: str
    #: When it was granted or renewed, by the broker's clock.
    since_us: int
    #: How long it lasts without renewal.
    lease_ms: int


class LocalLock(TypedDict):
    """A lock inside one consumer."""

    #: Name of the task that holds it; None: it is free.
    owner: str | None
    #: How many tasks wait for it.
    waiter_count: int
    #: False: a switch of the lab has turned it off.
    on: bool
