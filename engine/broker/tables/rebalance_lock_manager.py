"""The locks for ordered consumption of queues (RocketMQ: ``RebalanceLockManager``, ``LockEntry``).

A lock is a lease: (group, queue) -> (client, time of the last renewal). It holds for 60 s after the last renewal;
clients renew every 20 s. Locks live in memory only and are *not* dropped when their owner's connection closes: a
killed orderly consumer blocks its queues until the lease has run out.

There is no fencing token: an owner that pauses longer than its lease may continue to consume alongside the next owner.
The lease makes that rare; it does not exclude it.

Simplified: no mutex around the tables (the engine's code between two awaits is atomic). Added: the number of locks
is bounded; expired ones make room.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.protocol.body.message_queue import MessageQueue
from engine.runtime.port import Clock

logger = logging.getLogger("glassmq.broker")


@dataclass(slots=True, eq=False)
class LockEntry:
    """The owner of one queue's lock, and the start of its lease."""

    client_id: str
    last_update_ms: int


class RebalanceLockManager:
    """The lock table of one broker.

    :param clock: the broker's wall clock, as in RocketMQ; a clock that jumps shortens or lengthens leases.
    :param lock_lease_ms: how long a lock holds without renewal.
    :param max_locks: bound of the table.
    """

    def __init__(self, clock: Clock, lock_lease_ms: int = 60_000, max_locks: int = 100_000) -> None:
        self.lock_lease_ms = lock_lease_ms
        #: False: every client is granted the locks that it requests. A switch for lessons.
        self.enabled = True
        #: Groups for which the same is true, as an injected fault.
        self.groups_off: dict[str, None] = {}
        self._clock = clock
        self._max_locks = max_locks
        self._table: dict[str, dict[MessageQueue, LockEntry]] = {}
        self._count = 0

    def try_lock_batch(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> tuple[MessageQueue, ...]:
        """Lock or renew each of ``queues`` for ``client_id`` and return the queues that it now has locked.

        Queues that another client has locked with an unexpired lease are left out, and so are those for which the full
        table has no room.
        """
        if not self.enabled or group in self.groups_off:
            return tuple(queues)
        now_ms = self._clock.now_ms()
        return tuple(queue for queue in queues if self._try_lock(group, queue, client_id, now_ms))

    def _try_lock(self, group: str, queue: MessageQueue, client_id: str, now_ms: int) -> bool:
        locks = self._table.get(group)
        entry = None if locks is None else locks.get(queue)
        if entry is None:
            if not self._has_room(now_ms):
                return False
            self._table.setdefault(group, {})[queue] = LockEntry(client_id, now_ms)
            self._count += 1
            return True
        if entry.client_id != client_id:
            if not self._is_expired(entry, now_ms):
                return False
            logger.info(
                "lock of %s for group %s passes from %s to %s: not renewed for %d ms",
                queue,
                group,
                entry.client_id,
                client_id,
                now_ms - entry.last_update_ms,
            )
            entry.client_id = client_id
        entry.last_update_ms = now_ms
        return True

    def unlock_batch(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> None:
        """Release the queues in ``queues`` that ``client_id`` has locked; the others are unchanged."""
        locks = self._table.get(group)
        if locks is None:
            return
        for queue in queues:
            entry = locks.get(queue)
            if entry is None:
                continue
            if entry.client_id == client_id:
                del locks[queue]
                self._count -= 1
            else:
                logger.warning(
                    "%s asks to unlock %s of group %s, which %s holds", client_id, queue, group, entry.client_id
                )
        if not locks:
            del self._table[group]

    def give_away(self, group: str, queue: MessageQueue, client_id: str) -> str:
        """Transfer the lock of a queue to ``client_id``, as if the lease had expired; return the previous owner, or "".

        This is an injected fault: the previous owner only notices at its next renewal, and consumes until then.
        """
        entry = self._table.get(group, {}).get(queue)
        if entry is None:
            return ""
        owner, entry.client_id = entry.client_id, client_id
        entry.last_update_ms = self._clock.now_ms()
        return owner

    def remove_topic(self, topic: str) -> None:
        """Delete all locks on queues of a deleted topic."""
        for group, locks in list(self._table.items()):
            for queue in [queue for queue in locks if queue.topic == topic]:
                del locks[queue]
                self._count -= 1
            if not locks:
                del self._table[group]

    def entries(self) -> Iterator[tuple[str, MessageQueue, LockEntry]]:
        """Yield all locks, including expired ones: (group, queue, entry)."""
        for group, locks in self._table.items():
            for queue, entry in locks.items():
                yield group, queue, entry

    def __len__(self) -> int:
        return self._count

    def _is_expired(self, entry: LockEntry, now_ms: int) -> bool:
        return now_ms - entry.last_update_ms > self.lock_lease_ms

    def _has_room(self, now_ms: int) -> bool:
        if self._count < self._max_locks:
            return True
        for group, locks in list(self._table.items()):
            for queue, entry in list(locks.items()):
                if self._is_expired(entry, now_ms):
                    del locks[queue]
                    self._count -= 1
            if not locks:
                del self._table[group]
        if self._count < self._max_locks:
            return True
        logger.warning("the lock table is full: %d locks", self._count)
        return False
