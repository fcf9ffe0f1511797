"""Browses and resends dead letters of a broker that runs here, in its thread (RocketMQ: the dashboard's DLQ page).

Speaks to the broker as a tool does: SEND_MESSAGE (10) goes to the processor that answers it on the wire. Each resend
looks up first whether the dead letter was resent before, which the broker itself would not ask.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.broker.delivery.dead_letter import (
    COPIES_MAX,
    DeadLetterRefusal,
    DeadLetterRefused,
    DeathCause,
    ResendTo,
    cause_of_death,
    check_not_resent,
    one_dead_letter,
    original_topic,
    places_of_resends,
    resend_request,
    resent_as,
)
from engine.broker.delivery.dead_letter_queues import DeadLetterQueues
from engine.protocol.command.headers import SendMessageResponseHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.message_id import decode_offset_message_id
from engine.protocol.message.message_properties import PROPERTY_ORIGIN_MESSAGE_ID
from engine.protocol.names import DLQ_GROUP_TOPIC_PREFIX, dlq_topic
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.processor import ProcessorTable

if TYPE_CHECKING:
    from engine.broker.broker import Broker

logger = logging.getLogger("glassmq.broker")

#: Dead letters that one call of :meth:`DeadLetterAdministrator.resend_from` looks at.
RESEND_MAX = 200
#: Turns of the event loop that are waited for the dispatcher; where the disk takes nothing it never gets done.
_TURNS_MAX = 100
_END_OF_TIME_MS = 2**62


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """A group that has, or had, dead letters: numbers of the oldest one that is kept and of the next one to come."""

    group: str
    min_number: int
    max_number: int
    newest_ms: int

    @property
    def count(self) -> int:
        """How many are there."""
        return max(0, self.max_number - self.min_number)


@dataclass(frozen=True, slots=True)
class Resent:
    """Where the new message lies."""

    dead: MessageExt
    topic: str
    queue_id: int
    queue_offset: int


@dataclass(slots=True)
class ResendReport:
    """What became of several dead letters.

    :ivar already: how many were resent before and therefore left alone.
    :ivar failed: message id and why, of each that could not be resent.
    :ivar next_number: where to go on; None: there are no more.
    """

    resent: list[Resent] = field(default_factory=list)
    already: int = 0
    failed: list[tuple[str, DeadLetterRefused]] = field(default_factory=list)
    next_number: int | None = None


class DeadLetterAdministrator:
    """Methods raise :class:`~engine.broker.delivery.dead_letter.DeadLetterRefused`: then nothing has happened.

    A dead letter is named by its offset message id, its unique id, or one of its keys.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._store = broker.store
        self._channel = Channel(broker.runtime.clock, ProcessorTable())
        self._channel.remote_address = broker.address or "127.0.0.1:0"

    # ------------------------------------------------------------------------------ browsing

    def groups(self) -> list[DeadLetterGroup]:
        """All groups with a dead-letter topic, by name."""
        prefix = DLQ_GROUP_TOPIC_PREFIX
        topics = self._broker.topic_config_manager.topic_config_table
        groups = sorted(name.removeprefix(prefix) for name in topics if name.startswith(prefix))
        return [self._group(group) for group in groups]

    def _group(self, group: str) -> DeadLetterGroup:
        queues = self._queues(group)
        return DeadLetterGroup(group, queues.min_number, queues.max_number, queues.newest_ms)

    def _queues(self, group: str) -> DeadLetterQueues:
        config = self._broker.topic_config_manager.select_topic_config(dlq_topic(group))
        return DeadLetterQueues(self._store, group, config)

    def page(self, group: str, start: int, count: int) -> list[MessageExt]:
        """At most ``count`` dead letters from number ``start`` on, oldest first; bodies as they are stored."""
        return self._queues(group).messages(start, count)

    def find(self, group: str, name: str) -> MessageExt:
        """The dead letter of that name."""
        topic = dlq_topic(group)
        try:
            _, offset = decode_offset_message_id(name)
        except (ProtocolError, ValueError):
            offset = -1
        exact = self._store.message_at(offset) if offset >= 0 else None
        if exact is not None and exact.topic == topic and exact.offset_message_id == name:
            return exact
        return one_dead_letter(self._called(topic, name), group, name)

    def resent_as(self, group: str, dead: MessageExt) -> MessageExt | None:
        """What it was resent as, the first time; None when it was not."""
        return resent_as(dead, self._copies(group, dead))

    def cause_of_death(self, group: str, dead: MessageExt) -> DeathCause:
        """See :func:`engine.broker.delivery.dead_letter.cause_of_death`."""
        config = self._broker.subscription_group_manager.subscription_group_table.get(group)
        return cause_of_death(dead, config.retry_max_times if config is not None else 16)

    # ------------------------------------------------------------------------------ resending

    def check(self, group: str, name: str, to: ResendTo, *, anyway: bool = False) -> MessageExt:
        """The dead letter that :meth:`resend` would resend."""
        dead = self.find(group, name)
        self._check(group, dead, to, anyway=anyway)
        return dead

    async def resend(self, group: str, name: str, to: ResendTo, *, anyway: bool = False) -> Resent:
        """Send it again. ``anyway``: also when that was done before."""
        await self._let_the_dispatcher_finish()
        return await self._resend(group, self.check(group, name, to, anyway=anyway), to)

    async def resend_named(self, group: str, names: Sequence[str], to: ResendTo, *, anyway: bool) -> ResendReport:
        """Send those again that can be; the report says which could not."""
        await self._let_the_dispatcher_finish()
        report = ResendReport()
        for name in dict.fromkeys(names):
            try:
                await self._add(report, group, self.find(group, name), to, anyway=anyway)
            except DeadLetterRefused as refused:
                report.failed.append((name, refused))
        return report

    async def resend_from(self, group: str, start: int, to: ResendTo) -> ResendReport:
        """Send those again that were not yet, from number ``start`` on, :data:`RESEND_MAX` at a time."""
        await self._let_the_dispatcher_finish()
        report = ResendReport()
        known = self._group(group)
        first, end = max(start, known.min_number), known.max_number
        for dead in self.page(group, first, min(RESEND_MAX, max(0, end - first))):
            await self._add(report, group, dead, to, anyway=False)
        if first + RESEND_MAX < end:
            report.next_number = first + RESEND_MAX
        return report

    async def _add(self, report: ResendReport, group: str, dead: MessageExt, to: ResendTo, *, anyway: bool) -> None:
        # Each time anew: somebody else may have resent this one since the last.
        await self._let_the_dispatcher_finish()
        try:
            self._check(group, dead, to, anyway=anyway)
            report.resent.append(await self._resend(group, dead, to))
        except DeadLetterRefused as refused:
            if refused.refusal is DeadLetterRefusal.RESENT:
                report.already += 1
            else:
                report.failed.append((dead.offset_message_id, refused))
        # Clients of the broker get their turn between two dead letters.
        await asyncio.sleep(0)

    async def _resend(self, group: str, dead: MessageExt, to: ResendTo) -> Resent:
        """Nothing else runs between the check before and the append in here."""
        request = resend_request(dead, group, to, self._broker.runtime.clock.now_ms(), self._first_queue(dead))
        answer = self._broker.server.processors.find_unguarded(request.code)(self._channel, request)
        # With synchronous flush the answer comes with the disk's.
        reply = answer if answer is None or isinstance(answer, RemotingCommand) else await answer
        assert reply is not None, "a message that is sent is answered"
        if reply.code not in _STORED:
            raise DeadLetterRefused(DeadLetterRefusal.BY_BROKER, remark=reply.remark or f"code {reply.code}")
        header = SendMessageResponseHeader.decode(reply.ext_fields)
        topic = request.ext_fields["topic"]
        logger.warning("dead letter %s of group %s was resent to %s by hand", dead.message_id, group, topic)
        return Resent(dead, topic, header.queue_id, header.queue_offset)

    # ------------------------------------------------------------------------------ looking up

    def _check(self, group: str, dead: MessageExt, to: ResendTo, *, anyway: bool) -> None:
        if to is ResendTo.TOPIC and original_topic(dead) is None:
            raise DeadLetterRefused(DeadLetterRefusal.NO_TOPIC, name=dead.message_id)
        if not anyway:
            check_not_resent(dead, self._copies(group, dead))

    def _copies(self, group: str, dead: MessageExt) -> list[MessageExt]:
        return [copy for topic in places_of_resends(dead, group) for copy in self._called(topic, dead.message_id)]

    def _called(self, topic: str, name: str) -> list[MessageExt]:
        """Messages of ``topic`` with that unique id or key."""
        if not self._store.config.message_index_enable:
            raise DeadLetterRefused(DeadLetterRefusal.NO_INDEX)
        buffers = self._store.query_message(topic, name, COPIES_MAX, 0, _END_OF_TIME_MS).buffers
        found = [decode_stored_message(buffer) for buffer in buffers]
        return [message for message in found if name in (message.unique_id, *message.keys)]

    def _first_queue(self, dead: MessageExt) -> int:
        """The queue that its first copy lay in, if that is known and still there; else -1."""
        topic = original_topic(dead)
        try:
            _, offset = decode_offset_message_id(dead.properties.get(PROPERTY_ORIGIN_MESSAGE_ID, ""))
        except (ProtocolError, ValueError):
            return -1
        first = self._store.message_at(offset)
        config = self._broker.topic_config_manager.topic_config_table.get(topic or "")
        if first is None or config is None or first.topic != topic:
            return -1
        return first.queue_id if first.queue_id < config.write_queue_nums else -1

    async def _let_the_dispatcher_finish(self) -> None:
        """A message that was put a moment ago is not in the index yet."""
        for _ in range(_TURNS_MAX):
            if not self._store.dispatcher.pending_count:
                return
            await asyncio.sleep(0)


_STORED = (
    ResponseCode.SUCCESS,
    ResponseCode.FLUSH_DISK_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE,
)
