"""Time that a test lets pass: the broker's clock goes from one due time to the next, and clients react in between.

Due are delayed messages (retries are such messages) and, while there are half messages, the rounds of the transaction
check. Leases of locks and the like need no step: they are compared with the clock when somebody asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from engine.broker.broker import Broker
from engine.broker.foundation.store_lookups import dispatcher_done
from engine.broker.transactions.half_message import HALF_QUEUE_ID, producer_group
from engine.live.live_machines import LiveMachines
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import PROPERTY_REAL_TOPIC
from engine.protocol.names import (
    SCHEDULE_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
    group_of_retry_or_dlq_topic,
    is_dlq_topic,
    is_system_topic,
)
from engine.testkit.stored_messages import undecided_half_messages

_POLL_INTERVAL_S = 0.002
#: Seconds until a producer has reported its group: a client that has just started sends a heartbeat after 1 s, if it
#: knows a broker by then, and else after 31 s.
HEARTBEAT_S = 32.0
#: Seconds for a round of the transaction check, which waits for a flush of the log.
_ROUND_S = 6.0


class ClockSteps:
    """Sets the clock of one broker ahead.

    :param settle_s: how long clients may take for what they do in return for one step.
    """

    def __init__(self, machines: LiveMachines, *, liveness: bool, settle_s: float) -> None:
        self._machines = machines
        self._broker = machines.broker
        self._liveness = liveness
        self._settle_s = settle_s

    async def advance(self, ms: int) -> None:
        """Let ``ms`` pass. Where something is due and does not happen, as with a full disk, the rest is one step."""
        clock = self._machines.broker_runtime.clock
        ends_ms = clock.now_ms() + ms
        last_due_ms: int | None = None
        while True:
            due_ms = _next_due_ms(self._broker)
            is_last = due_ms is None or due_ms > ends_ms or due_ms == last_due_ms
            last_due_ms = due_ms
            step_ms = (ends_ms if due_ms is None or is_last else due_ms) - clock.now_ms()
            await self._step(max(0, step_ms))
            if is_last:
                return

    async def _step(self, ms: int) -> None:
        """Set the clock ahead, and wait until clients have reacted to each message and check, or the time is up."""
        broker = self._broker
        if _has_half_messages(broker):
            await _until(lambda: not _senders_to_come(broker), HEARTBEAT_S)
        before = _Ends(broker)
        self._machines.advance(ms, liveness=self._liveness)
        service = broker.transactional_message_service
        if _has_half_messages(broker):
            await _until(lambda: service.next_round_ms > broker.runtime.clock.now_ms(), _ROUND_S)
        await dispatcher_done(broker.store)
        awaited = before.given_to_consumers()
        await _until(lambda: before.checks_are_answered() and before.are_settled(awaited), self._settle_s)


class _Ends:
    """The ends of all queues before a step, and what clients have done since in return for it."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._ends = {(topic, queue_id): queue.max_offset for topic, queue_id, queue in broker.store.consume_queues()}
        self._checks_sent = broker.transactional_message_service.checks_sent

    def _new(self, is_wanted: Callable[[str], bool]) -> Iterator[MessageExt]:
        """Yield the messages that the wanted topics have got since the step began."""
        for topic, queue_id, queue in self._broker.store.consume_queues():
            if is_wanted(topic):
                start = self._ends.get((topic, queue_id), queue.min_offset)
                found = (
                    self._broker.store.message_in_queue(topic, queue_id, offset)
                    for offset in range(start, queue.max_offset)
                )
                yield from (message for message in found if message is not None)

    def given_to_consumers(self) -> list[tuple[str, MessageExt]]:
        """Return the messages that became visible, each with a group that has consumers for it."""
        given = self._new(lambda topic: not is_system_topic(topic) and not is_dlq_topic(topic))
        groups = [info for info in self._broker.consumer_manager if info.channel_info_table]
        return [
            (info.group_name, message)
            for message in given
            for info in groups
            if message.topic in info.subscription_table
        ]

    def are_settled(self, awaited: list[tuple[str, MessageExt]]) -> bool:
        """Return whether each message was sent back by its group, or confirmed."""
        returned = self._new(lambda topic: topic == SCHEDULE_TOPIC or is_dlq_topic(topic))
        sent_back = dict.fromkeys((_group_of_returned(message), message.unique_id) for message in returned)
        return all(
            (group, message.unique_id) in sent_back
            or self._broker.consumer_offset_manager.query_offset(group, message.topic, message.queue_id)
            > message.queue_offset
            for group, message in awaited
        )

    def checks_are_answered(self) -> bool:
        """Return whether as many transactions were decided as producers were asked about."""
        checks = self._broker.transactional_message_service.checks_sent - self._checks_sent
        decisions = self._broker.store.max_offset(TRANSACTION_OP_HALF_TOPIC, HALF_QUEUE_ID)
        return decisions - self._ends.get((TRANSACTION_OP_HALF_TOPIC, HALF_QUEUE_ID), 0) >= checks


def _group_of_returned(message: MessageExt) -> str | None:
    """Return the group that sent a message back: it waits for its retry topic, or is a dead letter."""
    topic = message.properties.get(PROPERTY_REAL_TOPIC, "") if message.topic == SCHEDULE_TOPIC else message.topic
    return group_of_retry_or_dlq_topic(topic)


def _next_due_ms(broker: Broker) -> int | None:
    due_ms = broker.schedule_message_service.next_due_ms()
    if not _has_half_messages(broker):
        return due_ms
    round_ms = broker.transactional_message_service.next_round_ms
    return round_ms if due_ms is None else min(due_ms, round_ms)


def _has_half_messages(broker: Broker) -> bool:
    """Return whether there are half messages that a round has not passed yet."""
    return broker.transactional_message_service.half_offset < broker.store.max_offset(
        TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID
    )


def _senders_to_come(broker: Broker) -> bool:
    """Return whether a half message has a sender that is connected, and whose group is not known yet.

    A round would ask nobody, and count as one.
    """
    connected = dict.fromkeys(channel.remote_address for channel in broker.server.channels)
    return any(
        half.born_host in connected and not broker.producer_manager.clients_of_group(producer_group(half))
        for half in undecided_half_messages(broker)
    )


async def _until(condition: Callable[[], bool], timeout_s: float) -> None:
    """Wait for ``condition``, no longer than this."""
    loop = asyncio.get_running_loop()
    ends_s = loop.time() + timeout_s
    while not condition() and loop.time() < ends_s:  # noqa: ASYNC110 (nothing reports what is waited for)
        await asyncio.sleep(_POLL_INTERVAL_S)
