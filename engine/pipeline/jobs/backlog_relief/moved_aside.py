"""Messages that a consumer group may skip for now: those of low priority that a job has stored elsewhere for later.

While a group lags far behind, the job ``backlog-relief`` reads ahead of it and stores less important messages. A broker
cannot remove single messages from a queue, so the group still receives them; its listener asks :class:`MovedAside` and
skips those that are stored. The job writes the stored range of each queue to the broker as the *progress of two groups
without members*: ``from`` and ``to``. Clients in every language can read progress, a real RocketMQ keeps it like any
other, and errors are on the safe side: if a mark is late or the broker lost it, a message is processed now and again
later. It is never lost.

The priority rule is part of those groups' names: a consumer with another rule than the job's finds no marks.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.foundation.errors import MQClientError, OffsetNotFound
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.java_trim import java_trim
from engine.protocol.message.message import MessageExt

_log = logging.getLogger("glassmq.client")

#: How old a mark may be before it is read again.
REFRESH_INTERVAL_MS = 1_000


@dataclass(frozen=True, slots=True)
class LowPriority:
    """The rule that determines which messages have low priority: those with certain tags, or with a certain value of a
    property.

    :ivar tags: in alphabetical order without duplicates; empty if the rule is about a property.
    """

    tags: tuple[str, ...] = ()
    property_name: str = ""
    property_value: str = ""

    @classmethod
    def parse(cls, text: str) -> LowPriority:
        """Read ``bulk,report`` (tags) or ``level=low`` (a property). Raises ``ValueError``."""
        name, separator, value = text.partition("=")
        name, value = java_trim(name), java_trim(value)
        if separator and name and value:
            return cls(property_name=name, property_value=value)
        tags = tuple(sorted(dict.fromkeys(tag for tag in map(java_trim, text.split(",")) if tag)))
        if separator or not tags:
            raise ValueError(f"{text!r} is empty; allowed: tags (bulk,report) or a property (level=low)")
        return cls(tags)

    def __str__(self) -> str:
        return ",".join(self.tags) if self.tags else f"{self.property_name}={self.property_value}"

    def has(self, message: MessageExt) -> bool:
        """Return whether the message has low priority."""
        if self.tags:
            return message.tags in self.tags
        return message.properties.get(self.property_name) == self.property_value


def mark_groups(group: str, rule: LowPriority) -> tuple[str, str]:
    """Return the groups whose progress marks the range in each queue whose low-priority messages are stored
    elsewhere.
    """
    name = f"{group}-aside-{zlib.crc32(str(rule).encode()):08x}"
    return f"{name}-from", f"{name}-to"


class MovedAside:
    """Select the messages that a consumer's listener must process now::

        aside = MovedAside(consumer, "bulk,report")

        async def listen(messages, context):
            for message in await aside.kept(messages, context.message_queue):
                ...

    :param consumer: a member of the group.
    :param low_priority: the same rule with which the job ``backlog-relief`` was started, see :meth:`LowPriority.parse`.
    :ivar left_out: how many messages were left out.
    """

    def __init__(self, consumer: DefaultMQPushConsumer, low_priority: str) -> None:
        self.rule = LowPriority.parse(low_priority)
        self._from_group, self._to_group = mark_groups(consumer.group, self.rule)
        self._instance = consumer.instance
        self._ranges: dict[MessageQueue, tuple[int, int]] = {}
        self._read_at_ms: dict[MessageQueue, int] = {}
        self._readings: dict[MessageQueue, asyncio.Task[None]] = {}
        self.left_out = 0

    async def kept(self, messages: Sequence[MessageExt], queue: MessageQueue) -> list[MessageExt]:
        """Return the messages to process now.

        :param queue: the queue they were pulled from (``context.message_queue``). A retry topic's queue has no marks,
            so a message that was tried once is never left out.
        """
        if not any(self.rule.has(message) for message in messages):
            return list(messages)
        start, end = await self._stored_range(queue)
        kept = [message for message in messages if not (self.rule.has(message) and start <= message.queue_offset < end)]
        self.left_out += len(messages) - len(kept)
        return kept

    async def _stored_range(self, queue: MessageQueue) -> tuple[int, int]:
        now_ms = self._instance.runtime.clock.now_ms()
        reading = self._readings.get(queue)
        if (
            reading is None
            and now_ms - self._read_at_ms.get(queue, now_ms - REFRESH_INTERVAL_MS) >= REFRESH_INTERVAL_MS
        ):
            reading = self._readings[queue] = asyncio.create_task(self._read_range(queue), name=f"marks of {queue}")
        if reading is not None:
            # Shared by the concurrent listener calls of the queue: cancelling one must not end it for the others.
            await asyncio.shield(reading)
        return self._ranges.get(queue, (0, 0))

    async def _read_range(self, queue: MessageQueue) -> None:
        try:
            # The job moves "from" before "to"; read in the opposite order, the range is never too wide.
            end = await self._mark(self._to_group, queue)
            self._ranges[queue] = await self._mark(self._from_group, queue), end
        except MQClientError as error:
            # Stored messages stay stored, so an old range is valid; without a range, the listener processes everything.
            _log.warning("marks of %s could not be read, the last ones count: %s", queue, error)
        finally:
            self._read_at_ms[queue] = self._instance.runtime.clock.now_ms()
            del self._readings[queue]

    async def _mark(self, group: str, queue: MessageQueue) -> int:
        address = self._instance.route_table.master_address(queue.broker_name)
        try:
            return await self._instance.consumer_api.query_consumer_offset(address, group, queue)
        except OffsetNotFound:
            return 0
