"""Dead letters of a broker, with the requests that any tool may send: pulls them as a topic's messages, finds by the
index whether they were resent, and sends them again. Works with a real RocketMQ 4.x too.

Brokers put the dead letters of a group into queue 0 of %DLQ%group. Other queues only have some if the topic was given
more queues or clients sent there. The order over all queues is that of the commit log, and it numbers them: the number
of a dead letter is how many the group had before. Like an offset it never changes, and with one queue it is the offset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.remote.cluster_reader import QueueEnds
from app.remote.remote_broker import RemoteBroker
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
    place_of_first_copy,
    places_of_resends,
    resend_request,
    resent_as,
    resent_at,
)
from engine.protocol.message.message import MessageExt
from engine.protocol.names import DLQ_GROUP_TOPIC_PREFIX, dlq_topic

#: The maximum number of dead letters that one call of :meth:`RemoteDeadLetters.resend_from` examines.
RESEND_MAX = 200


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """A group with a dead-letter topic, whose queues are ``queues``."""

    group: str
    queues: list[QueueEnds]

    @property
    def min_number(self) -> int:
        """Return the number of the oldest dead letter that is kept."""
        return sum(ends.min_offset for ends in self.queues)

    @property
    def max_number(self) -> int:
        """Return the number that the next dead letter will get."""
        return sum(ends.max_offset for ends in self.queues)

    @property
    def count(self) -> int:
        """Return how many dead letters exist."""
        return max(0, self.max_number - self.min_number)

    @property
    def newest_ms(self) -> int:
        """Return the store time of the newest dead letter; 0 without dead letters."""
        return max((ends.last_update_ms for ends in self.queues), default=0)


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


class RemoteDeadLetters:
    """The dead letters of ``broker``. Every method raises an ``MQClientError`` when it does not answer, and
    :class:`~engine.broker.delivery.dead_letter.DeadLetterRefused` when it cannot be done: then nothing has happened.
    """

    def __init__(self, broker: RemoteBroker) -> None:
        self._broker = broker
        self._has_index: bool | None = None

    # ------------------------------------------------------------------------------ browsing

    async def groups(self) -> list[DeadLetterGroup]:
        """Return all groups with a dead-letter topic."""
        prefix = DLQ_GROUP_TOPIC_PREFIX
        topics = [topic for topic in await self._broker.topics() if topic.startswith(prefix)]
        return [await self.of_group(topic.removeprefix(prefix)) for topic in topics]

    async def of_group(self, group: str) -> DeadLetterGroup:
        """Return the group; without queues if it has no dead-letter topic."""
        return DeadLetterGroup(group, await self._broker.topic_queues(dlq_topic(group)))

    async def page(self, group: DeadLetterGroup, start: int, count: int) -> list[MessageExt]:
        """Return at most ``count`` dead letters from number ``start`` on, oldest first, without damaged ones; bodies
        are as stored.
        """
        found: list[MessageExt] = []
        for ends, first in zip(group.queues, await self._firsts(group.queues, start), strict=True):
            end = min(ends.max_offset, first + count)
            found += await self._broker.read(ends.queue.topic, ends.queue.queue_id, first, end)
        return sorted(found, key=lambda dead: dead.commit_log_offset)[:count]

    async def newest(self, group: DeadLetterGroup, limit: int) -> list[MessageExt]:
        """Return at most ``limit`` dead letters, the newest ones of all queues, oldest first."""
        return await self.page(group, max(group.min_number, group.max_number - limit), limit)

    async def _firsts(self, queues: Sequence[QueueEnds], number: int) -> list[int]:
        """Return for each queue the offset of its first dead letter with that number or a later one."""
        if len(queues) == 1:
            return [number]
        if number <= sum(ends.min_offset for ends in queues):
            return [ends.min_offset for ends in queues]
        low, high = 0, 1 + max([await self._place(ends, ends.max_offset - 1) for ends in queues], default=0)
        while low < high:
            middle = (low + high) // 2
            if sum([await self._first_at(ends, middle) for ends in queues]) < number:
                low = middle + 1
            else:
                high = middle
            await asyncio.sleep(0)  # let the clients run, where the broker is of this process
        return [await self._first_at(ends, low) for ends in queues]

    async def _first_at(self, ends: QueueEnds, place: int) -> int:
        """Return the offset of the queue's first dead letter at ``place`` of the commit log or after it."""
        low, high = ends.min_offset, ends.max_offset
        while low < high:
            middle = (low + high) // 2
            if await self._place(ends, middle) < place:
                low = middle + 1
            else:
                high = middle
        return low

    async def _place(self, ends: QueueEnds, offset: int) -> int:
        """Return the commit-log offset of the dead letter at ``offset`` of its queue; -1 where no message is."""
        place = await self._broker.place(ends.queue, offset) if offset >= ends.min_offset else None
        return -1 if place is None else place

    async def find(self, group: str, name: str) -> MessageExt:
        """Return the dead letter with that offset message id, unique id or key; of several copies the newest one."""
        topic = dlq_topic(group)
        exact = await self._broker.message_with_id(name)
        if exact is not None and exact.topic == topic:
            return exact
        return one_dead_letter(await self._called([topic], name), group, name)

    async def resent_as(self, group: str, dead: MessageExt) -> MessageExt | None:
        """Return the message as which it was resent the first time; None when it was not."""
        return resent_as(dead, await self._called(places_of_resends(dead, group), dead.message_id))

    async def cause_of_death(self, group: str, dead: MessageExt) -> DeathCause:
        """Return why a dead letter was given up, as :func:`engine.broker.delivery.dead_letter.cause_of_death` does."""
        return cause_of_death(dead, await self._broker.retry_max_times(group))

    # ------------------------------------------------------------------------------ resending

    async def check(self, group: str, dead: MessageExt, to: ResendTo, *, anyway: bool) -> None:
        """Raise an error when the dead letter may not be resent."""
        check_has_topic(dead, to)
        if not anyway:
            check_not_resent(dead, await self._called(places_of_resends(dead, group), dead.message_id))

    async def resend(self, group: str, dead: MessageExt, to: ResendTo) -> Resent:
        """Send the dead letter again, whether or not that was done before."""
        queue_id = await self._first_queue(dead) if to is ResendTo.TOPIC else -1
        request = resend_request(dead, group, to, self._broker.now_ms(), queue_id)
        return resent_at(dead, request, await self._broker.exchange(request, "resend a dead letter"))

    async def resend_named(self, group: str, names: Sequence[str], to: ResendTo, *, anyway: bool) -> ResendReport:
        """Resend the named dead letters where possible; the report says which ones failed."""
        report = ResendReport()
        for name in dict.fromkeys(names):
            try:
                await self._add(report, group, await self.find(group, name), to, anyway=anyway)
            except DeadLetterRefused as refused:
                report.failed.append((name, refused))
        return report

    async def resend_from(self, group: DeadLetterGroup, start: int, to: ResendTo) -> ResendReport:
        """Resend the dead letters that were not resent yet, from number ``start`` on, :data:`RESEND_MAX` at a time."""
        report = ResendReport()
        first, end = max(start, group.min_number), group.max_number
        for dead in await self.page(group, first, min(RESEND_MAX, max(0, end - first))):
            await self._add(report, group.group, dead, to, anyway=False)
        if first + RESEND_MAX < end:
            report.next_number = first + RESEND_MAX
        return report

    async def _add(self, report: ResendReport, group: str, dead: MessageExt, to: ResendTo, *, anyway: bool) -> None:
        try:
            # Each time again: somebody else may have resent this one since the last time. With the broker of this
            # process, no other code runs between the check and the append.
            await self.check(group, dead, to, anyway=anyway)
            report.resent.append(await self.resend(group, dead, to))
        except DeadLetterRefused as refused:
            if refused.refusal is DeadLetterRefusal.RESENT:
                report.already += 1
            else:
                report.failed.append((dead.offset_message_id, refused))
        await asyncio.sleep(0)  # let the clients run, where the broker is of this process

    # ------------------------------------------------------------------------------ lookups

    async def _called(self, topics: Sequence[str], name: str) -> list[MessageExt]:
        """Return the messages of ``topics`` with that unique id or key."""
        found: list[MessageExt] = []
        for topic in topics:
            found += await self._broker.called(topic, name, COPIES_MAX)
        if not found and self._has_index is None:
            self._has_index = await self._broker.has_index()
        if not found and not self._has_index:
            raise DeadLetterRefused(DeadLetterRefusal.NO_INDEX)
        return found

    async def _first_queue(self, dead: MessageExt) -> int:
        """Return the queue in which its first copy was stored, if that is known and still exists; else -1."""
        topic, (address, offset) = original_topic(dead), place_of_first_copy(dead)
        if topic is None or address != self._broker.address:
            return -1
        first = await self._broker.message_at(offset)
        if first is None or first.topic != topic:
            return -1
        return first.queue_id if await self._broker.can_write(topic, first.queue_id) else -1
