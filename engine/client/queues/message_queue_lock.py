"""The local locks of a consumer, one per queue (RocketMQ: ``MessageQueueLock``).

A worker holds it from the moment it begins with a queue to the end of its slice, so that the workers of one process
never consume the same queue in parallel. It belongs to the *queue*: it stays the same when the queue is released and
acquired again, while every ``ProcessQueue`` has its own consume lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engine.protocol.body.message_queue import MessageQueue
from engine.runtime.engine_lock import EngineLock

#: Part of step labels, so it does not name the queue.
LOCK_NAME = "message queue lock"


class MessageQueueLock:
    """A table of locks, created on first use and kept: as many as there are queues of subscribed topics."""

    def __init__(self) -> None:
        self._locks: dict[MessageQueue, EngineLock] = {}
        self._enabled = True

    @property
    def enabled(self) -> bool:
        """False: the locks exclude no worker. A switch for lessons."""
        return self._enabled

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        self._enabled = enabled
        for lock in self._locks.values():
            lock.enabled = enabled

    @property
    def locks(self) -> Mapping[MessageQueue, EngineLock]:
        """Return the locks created so far, for reading only."""
        return MappingProxyType(self._locks)

    def fetch_lock(self, queue: MessageQueue) -> EngineLock:
        """Return the lock of ``queue`` (``fetchLockObject``)."""
        lock = self._locks.get(queue)
        if lock is None:
            lock = self._locks[queue] = EngineLock(LOCK_NAME, self._enabled)
        return lock
