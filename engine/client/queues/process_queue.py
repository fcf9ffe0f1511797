"""The state of one queue in a push consumer (RocketMQ: ``ProcessQueue``).

Messages wait in ``msg_tree_map``, sorted by queue offset. A concurrent consumer leaves them there during consumption
and removes them afterwards; the progress that it may commit is the smallest offset still in the tree. An orderly
consumer moves them to ``consuming_msg_orderly_tree_map`` meanwhile, and back when it failed.

Every method here is one critical section of RocketMQ's ``treeMapLock``: it does not await, so nothing can run between
its lines. Where other threads can run between two of RocketMQ's critical sections, callers have a ``step`` before each
call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from engine.client.foundation.red_black_tree import RedBlackTree
from engine.client.queues.queue_hold import HOLD_TRANSITIONS, HoldEvent, QueueHold
from engine.protocol.message.message import MessageExt
from engine.runtime.engine_lock import EngineLock
from engine.runtime.state_table import next_state

#: rocketmq.client.rebalance.lockMaxLiveTime: how long the client trusts a broker lock without renewal.
REBALANCE_LOCK_MAX_LIVE_TIME_MS = 30_000
#: rocketmq.client.pull.pullMaxIdleTime: the next rebalance rebuilds a queue that was not pulled for this long.
PULL_MAX_IDLE_TIME_MS = 120_000


class ProcessQueue:
    """The messages of one queue that were pulled and not yet consumed.

    :param now_ms: the node's wall clock.
    :param consume_lock: held around the listener of an orderly consumer and while the queue is released; default: its
        own.
    """

    __slots__ = (
        "_now_ms",
        "consume_lock",
        "consuming",
        "consuming_msg_orderly_tree_map",
        "dropped",
        "flow_control",
        "flow_control_times",
        "given_back",
        "hold",
        "last_consume_timestamp",
        "last_lock_timestamp",
        "last_pull_timestamp",
        "lock_max_live_time_ms",
        "locked",
        "msg_count",
        "msg_size",
        "msg_tree_map",
        "pull_max_idle_time_ms",
        "queue_offset_max",
        "try_unlock_times",
    )

    def __init__(
        self,
        now_ms: Callable[[], int],
        consume_lock: EngineLock | None = None,
        *,
        lock_max_live_time_ms: int = REBALANCE_LOCK_MAX_LIVE_TIME_MS,
        pull_max_idle_time_ms: int = PULL_MAX_IDLE_TIME_MS,
    ) -> None:
        self._now_ms = now_ms
        self.lock_max_live_time_ms = lock_max_live_time_ms
        self.pull_max_idle_time_ms = pull_max_idle_time_ms
        #: Pulled messages by queue offset.
        self.msg_tree_map: RedBlackTree[MessageExt] = RedBlackTree()
        #: Messages in progress in an orderly listener, by queue offset.
        self.consuming_msg_orderly_tree_map: RedBlackTree[MessageExt] = RedBlackTree()
        #: The number of messages in the two trees.
        self.msg_count = 0
        #: The size of their bodies in bytes.
        self.msg_size = 0
        #: The greatest offset ever put.
        self.queue_offset_max = 0
        #: Why it was not pulled at the last check ("count", "size", "span"); None: it was.
        self.flow_control: str | None = None
        #: How many times each of these held a pull back.
        self.flow_control_times: dict[str, int] = {}
        #: Queue offsets of messages in a concurrent listener that are being sent back to the broker, or were -> whether
        #: that succeeded.
        self.given_back: dict[int, asyncio.Future[bool]] = {}
        #: The owner of the queue and of its lock; changed by :meth:`hold_lock`, :meth:`lose_lock` and :meth:`drop`.
        self.hold = QueueHold.UNLOCKED
        #: The queue was released: nothing may be consumed, committed or pulled through this object any more. This and
        #: the next follow from ``hold``; they are read several times per message.
        self.dropped = False
        #: An orderly consumer has the broker's lock, as of ``last_lock_timestamp``.
        self.locked = False
        #: A chain of orderly consume requests is running; ``put_messages`` need not start another.
        self.consuming = False
        now = now_ms()
        self.last_lock_timestamp = now
        self.last_pull_timestamp = now
        self.last_consume_timestamp = now
        #: How many times releasing the queue was postponed because the listener was running.
        self.try_unlock_times = 0
        self.consume_lock = consume_lock or EngineLock("process queue consume lock")

    # --- pulling ---------------------------------------------------------------------------------------------------

    def put_messages(self, messages: Sequence[MessageExt]) -> bool:
        """Add pulled messages. Return True if an orderly consume chain must be started."""
        for message in messages:
            if self.msg_tree_map.put(message.queue_offset, message) is None:
                self.msg_count += 1
                self.msg_size += len(message.body)
                self.queue_offset_max = message.queue_offset
        if len(self.msg_tree_map) and not self.consuming:
            self.consuming = True
            return True
        return False

    @property
    def max_span(self) -> int:
        """Return the distance between the smallest and the greatest waiting offset."""
        first, last = self.msg_tree_map.first_key(), self.msg_tree_map.last_key()
        return 0 if first is None or last is None else last - first

    @property
    def is_pull_expired(self) -> bool:
        """Return True if the last pull is so old that it must have been lost."""
        return self._now_ms() - self.last_pull_timestamp > self.pull_max_idle_time_ms

    @property
    def is_lock_expired(self) -> bool:
        """Return True if the broker lock was not renewed in time, so that another client may have it by now."""
        return self._now_ms() - self.last_lock_timestamp > self.lock_max_live_time_ms

    def hold_lock(self) -> None:
        """Note that the broker has just granted or renewed the lock."""
        self._move(HoldEvent.GRANTED)
        self.last_lock_timestamp = self._now_ms()

    def lose_lock(self) -> None:
        """Note that the broker has refused to renew the lock, or that it was released."""
        self._move(HoldEvent.LOST)

    def drop(self) -> None:
        """Release the queue."""
        self._move(HoldEvent.GIVEN_UP)

    def _move(self, event: HoldEvent) -> None:
        self.hold = next_state(HOLD_TRANSITIONS, self.hold, event, "a queue")
        self.dropped, self.locked = self.hold.is_dropped, self.hold.is_locked

    # --- concurrent consumers --------------------------------------------------------------------------------------

    def remove_messages(self, messages: Iterable[MessageExt]) -> int:
        """Remove consumed messages. Return the offset to commit, or -1 if there was nothing to remove.

        That is the smallest offset still waiting: a slow message holds the progress back although later ones are
        finished, and after a crash those are consumed again.
        """
        self.last_consume_timestamp = self._now_ms()
        if not len(self.msg_tree_map):
            return -1
        for message in messages:
            removed = self.msg_tree_map.remove(message.queue_offset)
            if removed is not None:
                self.msg_count -= 1
                self.msg_size -= len(removed.body)
        first = self.msg_tree_map.first_key()
        return self.queue_offset_max + 1 if first is None else first

    def first_expired_message(self, consume_timeout_ms: int) -> MessageExt | None:
        """Return the message that holds the progress back if its listener has run for too long."""
        message = self.msg_tree_map.first_value()
        if message is None:
            return None
        started_ms = message.consume_started_ms
        if started_ms is None or self._now_ms() - started_ms <= consume_timeout_ms:
            return None
        return message

    def remove_if_first(self, message: MessageExt) -> int:
        """Remove ``message`` as ``remove_messages`` does if it still is the first one; else return -1."""
        if self.msg_tree_map.first_value() is message:
            return self.remove_messages((message,))
        return -1

    # --- orderly consumers -----------------------------------------------------------------------------------------

    def take_messages(self, batch_size: int) -> list[MessageExt]:
        """Move up to ``batch_size`` messages with the smallest offsets to the consuming tree and return them.

        Without any, the consume chain ends: the next ``put_messages`` starts a new one.
        """
        self.last_consume_timestamp = self._now_ms()
        taken: list[MessageExt] = []
        while len(taken) < batch_size and (entry := self.msg_tree_map.poll_first()) is not None:
            taken.append(entry[1])
            self.consuming_msg_orderly_tree_map.put(*entry)
        if not taken:
            self.consuming = False
        return taken

    def commit(self) -> int:
        """Remove the consumed messages in progress. Return the offset to commit, or -1 without such messages.

        RocketMQ 4.9.8 throws ``NoSuchElementException`` for the latter.
        """
        last = self.consuming_msg_orderly_tree_map.last_key()
        self.msg_count -= len(self.consuming_msg_orderly_tree_map)
        self.msg_size -= sum(len(message.body) for message in self.consuming_msg_orderly_tree_map.values())
        self.consuming_msg_orderly_tree_map.clear()
        return -1 if last is None else last + 1

    def rollback(self) -> None:
        """Put all messages in progress back, so that they wait again. Unreadable ones were moved aside for good."""
        for offset, message in self.consuming_msg_orderly_tree_map.items():
            if message.unreadable is None:
                self.msg_tree_map.put(offset, message)
            else:
                self.msg_count -= 1
                self.msg_size -= len(message.body)
        self.consuming_msg_orderly_tree_map.clear()

    def make_message_to_consume_again(self, messages: Iterable[MessageExt]) -> None:
        """Put these messages, which the listener failed to consume, back, so that they wait again."""
        for message in messages:
            self.consuming_msg_orderly_tree_map.remove(message.queue_offset)
            self.msg_tree_map.put(message.queue_offset, message)

    # --- giving up -------------------------------------------------------------------------------------------------

    @property
    def has_waiting_messages(self) -> bool:
        """Return True while ``msg_tree_map`` contains anything (RocketMQ: ``hasTempMessage``)."""
        return len(self.msg_tree_map) > 0

    def clear(self) -> None:
        """Remove all messages."""
        self.msg_tree_map.clear()
        self.consuming_msg_orderly_tree_map.clear()
        self.msg_count = 0
        self.msg_size = 0
        self.queue_offset_max = 0
