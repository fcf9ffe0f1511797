"""Browsing and resending of dead letters on a broker in this process, in its thread (RocketMQ: the dashboard's DLQ
page).

It uses the broker as a tool does: SEND_MESSAGE (10) goes to the processor that answers it on the wire. Each resend
first checks whether the dead letter was resent before, which the broker itself does not check.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.broker.delivery.dead_letter import (
    COPIES_MAX,
    DeadLetterRefusal,
    DeadLetterRefused,
    DeathCause,
    ResendTo,
    Resent,
    cause_of_death,
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
from engine.broker.delivery.dead_letter_queues import DeadLetterQueues
from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.store_lookups import dispatcher_done
from engine.broker.tables.subscription_group_manager import SubscriptionGroupManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.names import DLQ_GROUP_TOPIC_PREFIX, dlq_topic
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.port import Clock
from engine.store.message_store import MessageStore

logger = logging.getLogger("glassmq.broker")

#: The maximum number of dead letters that one call of :meth:`DeadLetterAdministrator.resend_from` examines.
RESEND_MAX = 200
_END_OF_TIME_MS = 2**62


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """A group with a dead-letter topic: the numbers of its oldest kept dead letter and of the next one."""

    group: str
    min_number: int
    max_number: int
    newest_ms: int

    @property
    def count(self) -> int:
        """Return how many dead letters exist."""
        return max(0, self.max_number - self.min_number)


@dataclass(slots=True)
class ResendReport:
    """The outcome of resending several dead letters.

    :ivar already: how many were resent before and therefore skipped.
    :ivar failed: message id and reason of each that could not be resent.
    :ivar next_number: where to continue; None: there are no more.
    """

    resent: list[Resent] = field(default_factory=list)
    already: int = 0
    failed: list[tuple[str, DeadLetterRefused]] = field(default_factory=list)
    next_number: int | None = None


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
    group_configs: SubscriptionGroupManager
    server: RemotingServer

    # ------------------------------------------------------------------------------ browsing

    def groups(self) -> list[DeadLetterGroup]:
        """Return all groups with a dead-letter topic, by name."""
        prefix = DLQ_GROUP_TOPIC_PREFIX
        topics = self.topics.topic_config_table
        groups = sorted(name.removeprefix(prefix) for name in topics if name.startswith(prefix))
        return [self._group(group) for group in groups]

    def _group(self, group: str) -> DeadLetterGroup:
        queues = self._queues(group)
        return DeadLetterGroup(group, queues.min_number, queues.max_number, queues.newest_ms)

    def _queues(self, group: str) -> DeadLetterQueues:
        config = self.topics.select_topic_config(dlq_topic(group))
        return DeadLetterQueues(self.store, group, config)

    def page(self, group: str, start: int, count: int) -> list[MessageExt]:
        """Return at most ``count`` dead letters from number ``start`` on, oldest first; bodies are as stored."""
        return self._queues(group).messages(start, count)

    def find(self, group: str, name: str) -> MessageExt:
        """Return the dead letter with that name."""
        topic = dlq_topic(group)
        _, offset = place_of(name)
        exact = self.store.message_at(offset) if offset >= 0 else None
        if exact is not None and exact.topic == topic and exact.offset_message_id == name:
            return exact
        return one_dead_letter(self._called(topic, name), group, name)

    def resent_as(self, group: str, dead: MessageExt) -> MessageExt | None:
        """Return the first resend of a dead letter, or None."""
        return resent_as(dead, self._copies(group, dead))

    def cause_of_death(self, group: str, dead: MessageExt) -> DeathCause:
        """Return why a dead letter was given up, as :func:`engine.broker.delivery.dead_letter.cause_of_death` does."""
        config = self.group_configs.subscription_group_table.get(group)
        return cause_of_death(dead, config.retry_max_times if config is not None else 16)

    # ------------------------------------------------------------------------------ resending

    def check(self, group: str, name: str, to: ResendTo, *, anyway: bool = False) -> MessageExt:
        """Return the dead letter that :meth:`resend` would resend."""
        dead = self.find(group, name)
        self._check(group, dead, to, anyway=anyway)
        return dead

    async def resend(self, group: str, name: str, to: ResendTo, *, anyway: bool = False) -> Resent:
        """Resend a dead letter; with ``anyway``, even one that was resent before."""
        await dispatcher_done(self.store)
        return await self._resend(group, self.check(group, name, to, anyway=anyway), to)

    async def resend_named(self, group: str, names: Sequence[str], to: ResendTo, *, anyway: bool) -> ResendReport:
        """Resend the named dead letters where possible; the report says which ones failed."""
        await dispatcher_done(self.store)
        report = ResendReport()
        for name in dict.fromkeys(names):
            try:
                await self._add(report, group, self.find(group, name), to, anyway=anyway)
            except DeadLetterRefused as refused:
                report.failed.append((name, refused))
        return report

    async def resend_from(self, group: str, start: int, to: ResendTo) -> ResendReport:
        """Resend the dead letters that were not resent yet, from number ``start`` on, :data:`RESEND_MAX` at a time."""
        await dispatcher_done(self.store)
        report = ResendReport()
        known = self._group(group)
        first, end = max(start, known.min_number), known.max_number
        for dead in self.page(group, first, min(RESEND_MAX, max(0, end - first))):
            await self._add(report, group, dead, to, anyway=False)
        if first + RESEND_MAX < end:
            report.next_number = first + RESEND_MAX
        return report

    async def _add(self, report: ResendReport, group: str, dead: MessageExt, to: ResendTo, *, anyway: bool) -> None:
        # Each time again: another client may have resent this one since the last time.
        await dispatcher_done(self.store)
        try:
            self._check(group, dead, to, anyway=anyway)
            report.resent.append(await self._resend(group, dead, to))
        except DeadLetterRefused as refused:
            if refused.refusal is DeadLetterRefusal.RESENT:
                report.already += 1
            else:
                report.failed.append((dead.offset_message_id, refused))
        # Let the broker's clients run between two dead letters.
        await asyncio.sleep(0)

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
