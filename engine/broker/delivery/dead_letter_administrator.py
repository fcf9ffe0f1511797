"""Resending of a dead letter on a broker in this process, in its thread: for the lab.

It uses the broker as a tool does: SEND_MESSAGE (10) goes to the processor that answers it on the wire. Each resend
first checks whether the dead letter was resent before, which the broker itself does not check.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from engine.broker.delivery.dead_letter import (
    COPIES_MAX,
    DeadLetterRefusal,
    DeadLetterRefused,
    ResendTo,
    Resent,
    check_has_topic,
    check_not_resent,
    one_dead_letter,
    original_topic,
    place_of_first_copy,
    places_of_resends,
    resend_request,
    resent_at,
)
from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.store_lookups import dispatcher_done, message_with_id
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.names import dlq_topic
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.port import Clock
from engine.store.message_store import MessageStore

logger = logging.getLogger("glassmq.broker")

_END_OF_TIME_MS = 2**62


@dataclass(frozen=True)
class DeadLetterAdministrator:
    """An administrator of dead letters. Methods raise :class:`~engine.broker.delivery.dead_letter.DeadLetterRefused`
    without any effect.

    A dead letter is named by its offset message id, its unique id, or one of its keys.
    """

    clock: Clock
    address: BrokerAddress
    store: MessageStore
    topics: TopicConfigManager
    server: RemotingServer

    def find(self, group: str, name: str) -> MessageExt:
        """Return the dead letter with that name."""
        topic = dlq_topic(group)
        exact = message_with_id(self.store, name)
        if exact is not None and exact.topic == topic:
            return exact
        return one_dead_letter(self._called(topic, name), group, name)

    def check(self, group: str, name: str, to: ResendTo, *, anyway: bool = False) -> MessageExt:
        """Return the dead letter that :meth:`resend` would resend."""
        dead = self.find(group, name)
        self._check(group, dead, to, anyway=anyway)
        return dead

    async def resend(self, group: str, name: str, to: ResendTo, *, anyway: bool = False) -> Resent:
        """Resend a dead letter; with ``anyway``, even one that was resent before."""
        await dispatcher_done(self.store)
        return await self._resend(group, self.check(group, name, to, anyway=anyway), to)

    async def _resend(self, group: str, dead: MessageExt, to: ResendTo) -> Resent:
        """Resend a dead letter; no other code runs between the preceding check and the append."""
        request = resend_request(dead, group, to, self.clock.now_ms(), self._first_queue(dead))
        reply = await self.server.ask_unguarded(request, self.address.text or "127.0.0.1:0")
        resent = resent_at(dead, request, reply)
        logger.warning("dead letter %s of group %s was resent to %s by hand", dead.message_id, group, resent.topic)
        return resent

    # ------------------------------------------------------------------------------ lookups

    def _check(self, group: str, dead: MessageExt, to: ResendTo, *, anyway: bool) -> None:
        check_has_topic(dead, to)
        if not anyway:
            check_not_resent(dead, self._copies(group, dead))

    def _copies(self, group: str, dead: MessageExt) -> list[MessageExt]:
        return [copy for topic in places_of_resends(dead, group) for copy in self._called(topic, dead.message_id)]

    def _called(self, topic: str, name: str) -> list[MessageExt]:
        """Return the messages of ``topic`` with that unique id or key."""
        if not self.store.config.message_index_enable:
            raise DeadLetterRefused(DeadLetterRefusal.NO_INDEX)
        buffers = self.store.query_message(topic, name, COPIES_MAX, 0, _END_OF_TIME_MS).buffers
        found = [decode_stored_message(buffer) for buffer in buffers]
        return [message for message in found if name in (message.unique_id, *message.keys)]

    def _first_queue(self, dead: MessageExt) -> int:
        """Return the queue of its first copy, if that is known and still exists; else -1."""
        topic, (_, offset) = original_topic(dead), place_of_first_copy(dead)
        first = self.store.message_at(offset) if offset >= 0 else None
        config = self.topics.topic_config_table.get(topic or "")
        if first is None or config is None or first.topic != topic:
            return -1
        return first.queue_id if first.queue_id < config.write_queue_nums else -1
