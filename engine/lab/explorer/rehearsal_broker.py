"""The cluster of a rehearsal: what a consumer asks of name server and broker, answered without frames.

The lock table is the broker's own (:class:`~engine.broker.tables.rebalance_lock_manager.RebalanceLockManager`). Messages,
offsets and members stand in dictionaries. A request takes the scenario's latency to get there and again to come back.

A request is worked out when it is sent, as it will be when it gets there, so only the reply is an event. That comes to
the same: all requests take equally long, so they get there in the order in which they are sent; when which message
arrives is known beforehand; and the broker's clock is read as it will stand then. Only a broker lock that is switched
while a request is under way counts that little bit too late.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Mapping
from contextvars import Context
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from engine.broker.tables.rebalance_lock_manager import RebalanceLockManager
from engine.client.consumer.pull_result import PullResult, PullStatus
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import PROPERTY_KEYS, PROPERTY_MAX_OFFSET, PROPERTY_MIN_OFFSET
from engine.runtime.lab.lab_actor import LabActor, LabNode
from engine.runtime.lab.lab_clock import WORLD_BEGIN_MS
from engine.runtime.lab.lab_loop import LabLoop
from engine.runtime.lab.lab_short_cuts import LabShortCuts

if TYPE_CHECKING:
    from engine.client.instance.mq_client_instance import MQClientInstance

_T = TypeVar("_T")
_HOST = "10.0.0.1:10911"


class QueueArrivals(NamedTuple):
    """The messages of a queue, in the order in which they come.

    :ivar times_us: when each is there.
    """

    times_us: tuple[int, ...]
    keys: tuple[str, ...]


_NOTHING_ARRIVES = QueueArrivals((), ())


class _ArrivalClock:
    """The broker's clock as it stands when what is sent now gets there."""

    def __init__(self, loop: LabLoop, latency_us: int) -> None:
        self._loop = loop
        self._latency_us = latency_us

    def monotonic_us(self) -> int:
        """See the port."""
        return self._loop.schedule.now_us + self._latency_us

    def now_ms(self) -> int:
        """See the port."""
        return WORLD_BEGIN_MS + self.monotonic_us() // 1_000


class _Client(NamedTuple):
    """A process, and the link from here to it."""

    instance: MQClientInstance
    link: LabActor
    context: Context


class RehearsalBroker:
    """:param latency_us: of every link.

    :param end_us: when the schedules end.
    :param queues: of each topic, sorted.
    :param arrivals: what producers send, by queue.

    :ivar lock_manager: the broker's lock table.
    :ivar round_trip_us: from a client to here and back.
    :ivar name_server: an address that clients are content with.
    """

    def __init__(
        self,
        loop: LabLoop,
        short_cuts: LabShortCuts,
        name: str,
        latency_us: int,
        end_us: int,
        queues: Mapping[str, tuple[MessageQueue, ...]],
        arrivals: Mapping[MessageQueue, QueueArrivals],
    ) -> None:
        self.name = name
        self.name_server = "10.0.0.2:9876"
        self.lock_manager = RebalanceLockManager(_ArrivalClock(loop, latency_us))
        self.end_us = end_us
        self.queues = queues
        self.round_trip_us = 2 * latency_us
        self._loop = loop
        self._short_cuts = short_cuts
        self._latency_us = latency_us
        self._arrivals = arrivals
        self._clients: dict[str, _Client] = {}
        self._members: dict[str, dict[str, None]] = {}
        self._offsets: dict[tuple[str, MessageQueue], int] = {}

    def connect(self, node: LabNode, instance: MQClientInstance) -> None:
        """A process of ``node`` begins."""
        link = self._loop.new_actor(f"{self.name}->{node.name}", node)
        self._clients[node.name] = _Client(instance, link, self._loop.context_of(link))

    # --- the wire --------------------------------------------------------------------------------------------------

    async def reply(self, client: str, result: _T, wait_us: int = 0) -> _T:
        """``result``, known to ``client`` when what it sends now has got here and the answer has come back.

        :param wait_us: how long the request waits here.
        """
        delay_us = self.round_trip_us + wait_us
        if self._short_cuts.pass_time(delay_us):
            return result
        reply: asyncio.Future[_T] = asyncio.Future(loop=self._loop)
        _, link, context = self._clients[client]
        self._loop.post(link, context, "frame arrives", delay_us, _fulfil, reply, result)
        return await reply

    # --- members ---------------------------------------------------------------------------------------------------

    def register(self, client: str, group: str) -> None:
        """A heartbeat comes: a new member makes all of them rebalance."""
        members = self._members.setdefault(group, {})
        if client not in members:
            members[client] = None
            for member in members:
                instance, link, context = self._clients[member]
                self._loop.post(link, context, "frame arrives", self.round_trip_us, instance.rebalance_immediately)

    def members(self, group: str) -> tuple[str, ...]:
        """Client ids."""
        return tuple([self._clients[member].instance.client_id for member in self._members.get(group, ())])

    # --- progress --------------------------------------------------------------------------------------------------

    def offset(self, group: str, queue: MessageQueue) -> int:
        """The group's committed offset. A new group is told 0, as for every queue that still has its first message."""
        return self._offsets.get((group, queue), 0)

    def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        """Store it."""
        self._offsets[group, queue] = offset

    # --- messages --------------------------------------------------------------------------------------------------

    def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message gets."""
        times_us = self._arrivals.get(queue, _NOTHING_ARRIVES).times_us
        return bisect_right(times_us, self._loop.schedule.now_us + self._latency_us)

    async def pull(
        self, client: str, queue: MessageQueue, offset: int, max_messages: int, suspend_ms: int
    ) -> PullResult:
        """The messages from ``offset`` on, as soon as there are any; none after ``suspend_ms``."""
        end = self.max_offset(queue)
        if offset < end:
            return await self.reply(client, self._found(queue, offset, max_messages, end))
        times_us = self._arrivals.get(queue, _NOTHING_ARRIVES).times_us
        gets_here_us = self._loop.schedule.now_us + self._latency_us
        if end < len(times_us) and times_us[end] <= gets_here_us + suspend_ms * 1_000:
            found = self._found(queue, offset, max_messages, end + 1)
            return await self.reply(client, found, times_us[end] - gets_here_us)
        nothing = PullResult(PullStatus.NO_NEW_MSG, offset, 0, end)
        return await self.reply(client, nothing, suspend_ms * 1_000)

    def _found(self, queue: MessageQueue, offset: int, max_messages: int, end: int) -> PullResult:
        last = min(end, offset + max_messages)
        keys = self._arrivals[queue].keys
        messages = tuple([_message(queue, number, keys[number], end) for number in range(offset, last)])
        return PullResult(PullStatus.FOUND, last, 0, end, messages)


def _message(queue: MessageQueue, offset: int, key: str, end: int) -> MessageExt:
    """A copy of its own for every pull, as over a wire."""
    return MessageExt(
        topic=queue.topic,
        body=b"",
        properties={PROPERTY_KEYS: key, PROPERTY_MIN_OFFSET: "0", PROPERTY_MAX_OFFSET: str(end)},
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
