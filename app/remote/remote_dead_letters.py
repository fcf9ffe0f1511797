"""Dead letters of a remote broker, with the requests that any tool may send: pulls them as a topic's messages, finds by
the index whether they were resent, and sends them again. Works with a real RocketMQ 4.x too.
"""

from __future__ import annotations

import time

from app.remote.cluster_reader import ClusterReader, QueueEnds
from app.remote.remote_broker import RemoteBroker
from engine.broker.delivery.dead_letter import (
    COPIES_MAX,
    ResendTo,
    Resent,
    check_has_topic,
    check_not_resent,
    one_dead_letter,
    original_topic,
    place_of,
    place_of_first_copy,
    places_of_resends,
    resend_request,
    resent_as,
    resent_at,
)
from engine.protocol.message.message import MessageExt
from engine.protocol.names import dlq_topic


class RemoteDeadLetters:
    """The dead letters of the broker called ``broker_name`` at ``address``. Every method raises an ``MQClientError``
    when it does not answer, and :class:`~engine.broker.delivery.dead_letter.DeadLetterRefused` when it cannot be done:
    then nothing has happened.
    """

    def __init__(self, reader: ClusterReader, broker_name: str, address: str) -> None:
        self._reader = reader
        self._broker_name = broker_name
        self._broker = RemoteBroker(reader, address)

    async def queues(self, group: str) -> list[QueueEnds]:
        """Return the queues that store dead letters of the group."""
        return [
            ends
            for ends in await self._reader.topic_queues(dlq_topic(group))
            if ends.queue.broker_name == self._broker_name and ends.max_offset > ends.min_offset
        ]

    async def newest(self, group: str, limit: int) -> list[MessageExt]:
        """Return at most ``limit`` dead letters, the newest ones of all queues, oldest first."""
        found: list[MessageExt] = []
        for ends in await self.queues(group):
            found += await self.read(ends, max(ends.min_offset, ends.max_offset - limit), ends.max_offset)
        return sorted(found, key=lambda dead: dead.commit_log_offset)[-limit:]

    async def read(self, ends: QueueEnds, first: int, end: int) -> list[MessageExt]:
        """Return dead letters of one queue from offset ``first`` up to ``end``."""
        return await self._broker.read(ends.queue.topic, ends.queue.queue_id, first, end)

    async def find(self, group: str, name: str) -> MessageExt:
        """Return the dead letter with that offset message id, unique id or key; of several copies the newest one."""
        topic = dlq_topic(group)
        address, offset = place_of(name)
        if address == self._broker.address:
            exact = await self._broker.message_at(offset)
            if exact is not None and exact.topic == topic:
                return exact
        return one_dead_letter(await self._broker.called(topic, name, COPIES_MAX), group, name)

    async def resent_as(self, group: str, dead: MessageExt) -> MessageExt | None:
        """Return the message as which it was resent the first time; None when it was not."""
        return resent_as(dead, await self._copies(group, dead))

    async def check(self, group: str, dead: MessageExt, to: ResendTo, *, anyway: bool) -> None:
        """Raise an error when the dead letter may not be resent."""
        check_has_topic(dead, to)
        if not anyway:
            check_not_resent(dead, await self._copies(group, dead))

    async def resend(self, group: str, dead: MessageExt, to: ResendTo) -> Resent:
        """Send the dead letter again, whether or not that was done before."""
        queue_id = await self._first_queue(dead) if to is ResendTo.TOPIC else -1
        request = resend_request(dead, group, to, time.time_ns() // 1_000_000, queue_id)
        return resent_at(dead, request, await self._broker.exchange(request, "resend a dead letter"))

    async def _copies(self, group: str, dead: MessageExt) -> list[MessageExt]:
        copies: list[MessageExt] = []
        for topic in places_of_resends(dead, group):
            copies += await self._broker.called(topic, dead.message_id, COPIES_MAX)
        return copies

    async def _first_queue(self, dead: MessageExt) -> int:
        """Return the queue in which its first copy was stored, if that is known and still exists; else -1."""
        topic, (address, offset) = original_topic(dead), place_of_first_copy(dead)
        if topic is None or address != self._broker.address:
            return -1
        first = await self._broker.message_at(offset)
        if first is None or first.topic != topic or not await self._reader.has_topic(topic):
            return -1
        queues = [ends.queue.queue_id for ends in await self._reader.topic_queues(topic)]
        return first.queue_id if first.queue_id in queues else -1
