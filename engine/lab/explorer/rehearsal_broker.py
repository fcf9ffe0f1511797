"""The cluster of a rehearsal: what a consumer asks of name server and broker, answered without frames.

The lock table is the broker's own (:class:`~engine.broker.rebalance_lock_manager.RebalanceLockManager`). Messages,
offsets and members stand in dictionaries. Every request takes the scenario's latency to get there and again to come
back, as an event of the link's actor, so nobody who is held keeps the other side waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from engine.broker.rebalance_lock_manager import RebalanceLockManager
from engine.client.pull_result import PullResult, PullStatus
from engine.protocol.message import MessageExt
from engine.protocol.message_properties import PROPERTY_KEYS, PROPERTY_MAX_OFFSET, PROPERTY_MIN_OFFSET
from engine.protocol.message_queue import MessageQueue
from engine.runtime.lab_actor import LabActor, LabNode
from engine.runtime.lab_clock import LabClock
from engine.runtime.lab_loop import LabLoop

if TYPE_CHECKING:
    from engine.client.mq_client_instance import MQClientInstance

_T = TypeVar("_T")
_HOST = "10.0.0.1:10911"


class _Pull(NamedTuple):
    """A pull that waits for a message."""

    client: str
    offset: int
    max_messages: int
    reply: asyncio.Future[PullResult]


class _Link(NamedTuple):
    """One direction of a connection."""

    actor: LabActor
    context: Context


class RehearsalBroker:
    """:param latency_us: of every link.

    :param end_us: when the schedules end.

    :ivar lock_manager: the broker's lock table.
    :ivar round_trip_s: from a client to here and back.
    :ivar name_server: an address that clients are content with.
    """

    def __init__(self, loop: LabLoop, node: LabNode, latency_us: int, end_us: int) -> None:
        self.name = node.name
        self.name_server = "10.0.0.2:9876"
        self.lock_manager = RebalanceLockManager(LabClock(loop))
        self.end_us = end_us
        self.round_trip_s = 2 * latency_us / 1_000_000
        self._loop = loop
        self._node = node
        self._latency_us = latency_us
        self._own = self._new_link(f"{node.name}/arrivals", node)
        #: Node -> its link here, and the one back.
        self._links: dict[str, tuple[_Link, _Link]] = {}
        self._instances: dict[str, MQClientInstance] = {}
        self._members: dict[str, dict[str, None]] = {}
        self._keys: dict[MessageQueue, list[str]] = {}
        self._offsets: dict[tuple[str, MessageQueue], int] = {}
        self._held: dict[MessageQueue, list[_Pull]] = {}

    def _new_link(self, name: str, node: LabNode) -> _Link:
        actor = self._loop.new_actor(name, node)
        return _Link(actor, self._loop.context_of(actor))

    def connect(self, client: LabNode, instance: MQClientInstance) -> None:
        """A process of ``client`` begins."""
        there = self._new_link(f"{client.name}->{self.name}", self._node)
        back = self._new_link(f"{self.name}->{client.name}", client)
        self._links[client.name] = (there, back)
        self._instances[client.name] = instance

    # --- the wire --------------------------------------------------------------------------------------------------

    def ask(self, client: str, answer: Callable[[], _T]) -> asyncio.Future[_T]:
        """What ``answer()`` returns, or raises, when the request gets there; known when the reply comes back."""
        reply: asyncio.Future[_T] = self._loop.create_future()
        self.tell(client, lambda: self._answer(client, answer, reply))
        return reply

    def tell(self, client: str, act: Callable[[], None]) -> None:
        """Do ``act()`` when the request gets there; nobody waits for it."""
        there = self._links[client][0]
        self._loop.post(there.actor, there.context, "frame arrives", self._latency_us, act)

    def _answer(self, client: str, answer: Callable[[], _T], reply: asyncio.Future[_T]) -> None:
        try:
            result = answer()
        except Exception as error:
            self._send_back(client, _fail, reply, error)
        else:
            self._send_back(client, _fulfil, reply, result)

    def _send_back(self, client: str, act: Callable[..., None], *arguments: object) -> None:
        back = self._links[client][1]
        self._loop.post(back.actor, back.context, "frame arrives", self._latency_us, act, *arguments)

    # --- members ---------------------------------------------------------------------------------------------------

    def register(self, client: str, group: str) -> None:
        """A heartbeat came: a new member makes all of them rebalance."""
        members = self._members.setdefault(group, {})
        if client not in members:
            members[client] = None
            for member in members:
                self._send_back(member, self._instances[member].rebalance_immediately)

    def members(self, group: str) -> tuple[str, ...]:
        """Client ids."""
        return tuple(self._instances[member].client_id for member in self._members.get(group, ()))

    # --- progress --------------------------------------------------------------------------------------------------

    def offset(self, group: str, queue: MessageQueue) -> int | None:
        """The group's committed offset."""
        return self._offsets.get((group, queue))

    def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        """Store it."""
        self._offsets[group, queue] = offset

    # --- messages --------------------------------------------------------------------------------------------------

    def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message gets."""
        return len(self._keys.get(queue, ()))

    def store_at(self, time_us: int, queue: MessageQueue, key: str) -> None:
        """A message with ``key`` will be stored then."""
        delay_us = time_us - self._loop.now_us
        self._loop.post(self._own.actor, self._own.context, "message arrives", delay_us, self._store, queue, key)

    def _store(self, queue: MessageQueue, key: str) -> None:
        self._keys.setdefault(queue, []).append(key)
        for pull in self._held.pop(queue, ()):
            self._send_back(pull.client, _fulfil, pull.reply, self._found(queue, pull.offset, pull.max_messages))

    def pull(
        self, client: str, queue: MessageQueue, offset: int, max_messages: int, suspend_ms: int
    ) -> asyncio.Future[PullResult]:
        """The messages from ``offset`` on, as soon as there are any; none after ``suspend_ms``."""
        reply: asyncio.Future[PullResult] = self._loop.create_future()

        def arrive() -> None:
            if offset < self.max_offset(queue):
                self._send_back(client, _fulfil, reply, self._found(queue, offset, max_messages))
                return
            self._held.setdefault(queue, []).append(_Pull(client, offset, max_messages, reply))
            own = self._own
            self._loop.post(own.actor, own.context, "pull times out", suspend_ms * 1_000, self._give_up, queue, reply)

        self.tell(client, arrive)
        return reply

    def _give_up(self, queue: MessageQueue, reply: asyncio.Future[PullResult]) -> None:
        for pull in self._held.get(queue, ()):
            if pull.reply is reply:
                self._held[queue].remove(pull)
                nothing = PullResult(PullStatus.NO_NEW_MSG, pull.offset, 0, self.max_offset(queue))
                self._send_back(pull.client, _fulfil, reply, nothing)
                return

    def _found(self, queue: MessageQueue, offset: int, max_messages: int) -> PullResult:
        end = self.max_offset(queue)
        last = min(end, offset + max_messages)
        messages = tuple(self._message(queue, number, end) for number in range(offset, last))
        return PullResult(PullStatus.FOUND, last, 0, end, messages)

    def _message(self, queue: MessageQueue, offset: int, end: int) -> MessageExt:
        """A copy of its own for every pull, as over a wire."""
        key = self._keys[queue][offset]
        properties = {PROPERTY_KEYS: key, PROPERTY_MIN_OFFSET: "0", PROPERTY_MAX_OFFSET: str(end)}
        return MessageExt(
            topic=queue.topic,
            body=b"",
            properties=properties,
            queue_id=queue.queue_id,
            queue_offset=offset,
            commit_log_offset=0,
            born_timestamp=0,
            born_host=_HOST,
            store_timestamp=0,
            store_host=_HOST,
            broker_name=queue.broker_name,
        )


def _fulfil(reply: asyncio.Future[_T], result: _T) -> None:
    if not reply.done():
        reply.set_result(result)


def _fail(reply: asyncio.Future[_T], error: Exception) -> None:
    if not reply.done():
        reply.set_exception(error)
