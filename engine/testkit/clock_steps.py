"""Time that a test lets pass: the broker's clock goes from one due time to the next, and clients react in between.

Due are delayed messages (retries are such messages) and, while there are half messages, the rounds of the transaction
check. Leases of locks and the like need no step: they are compared with the clock when somebody asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.broker.broker import Broker
from engine.broker.transactions.half_message import producer_group
from engine.live.live_machines import LiveMachines
from engine.protocol.names import (
    SCHEDULE_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
    is_dlq_topic,
    is_system_topic,
)
from engine.testkit.stored_messages import undecided_half_messages

_POLL_INTERVAL_S = 0.002
#: Seconds until a producer has reported its group: a client that has just started sends a heartbeat after 1 s, if it knows
#: a broker by then, and else after 31 s.
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
        """Let ``ms`` pass."""
        clock = self._machines.broker_runtime.clock
        ends_ms = clock.now_ms() + ms
        while True:
            due_ms = _next_due_ms(self._broker)
            is_last = due_ms is None or due_ms > ends_ms
            step_ms = (ends_ms if due_ms is None or is_last else due_ms) - clock.now_ms()
            await self._step(max(0, step_ms))
            if is_last:
                return

    async def _step(self, ms: int) -> None:
        """Set the clock ahead, and wait until clients have reacted to each message and check, or the time is up."""
        broker = self._broker
        if _has_half_messages(broker):
            await _until(lambda: not _senders_to_come(broker), HEARTBEAT_S)
        delivered, reactions = _deliveries(broker), _reactions(broker)
        self._machines.advance(ms, liveness=self._liveness)
        service = broker.transactional_message_service
        if _has_half_messages(broker):
            await _until(lambda: service.next_round_ms > broker.runtime.clock.now_ms(), _ROUND_S)
        expected = _deliveries(broker) - delivered
        if expected and _has_clients(broker):
            await _until(lambda: _reactions(broker) - reactions >= expected, self._settle_s)


def _next_due_ms(broker: Broker) -> int | None:
    due_ms = broker.schedule_message_service.next_due_ms()
    if not _has_half_messages(broker):
        return due_ms
    round_ms = broker.transactional_message_service.next_round_ms
    return round_ms if due_ms is None else min(due_ms, round_ms)


def _has_half_messages(broker: Broker) -> bool:
    """Return whether there are half messages that a round has not passed yet."""
    return broker.transactional_message_service.half_offset < broker.store.max_offset(TRANSACTION_HALF_TOPIC, 0)


def _senders_to_come(broker: Broker) -> bool:
    """Return whether a half message has a sender that is connected, and whose group is not known yet.

    A round would ask nobody, and count as one.
    """
    connected = dict.fromkeys(channel.remote_address for channel in broker.server.channels)
    return any(
        half.born_host in connected and not broker.producer_manager.clients_of_group(producer_group(half))
        for half in undecided_half_messages(broker)
    )


def _has_clients(broker: Broker) -> bool:
    return len(broker.consumer_manager) + len(broker.producer_manager) > 0


def _deliveries(broker: Broker) -> int:
    """Return how often clients were given something because of the time, so far."""
    return broker.schedule_message_service.delivered_messages + broker.transactional_message_service.checks_sent


def _reactions(broker: Broker) -> int:
    """Return how often clients have sent messages back, decided transactions or confirmed messages, so far."""
    stored = sum(
        queue.max_offset
        for topic, _, queue in broker.store.consume_queues()
        if topic in (SCHEDULE_TOPIC, TRANSACTION_OP_HALF_TOPIC) or is_dlq_topic(topic)
    )
    offsets = broker.consumer_offset_manager.entries()
    return stored + sum(sum(queues.values()) for topic, _, queues in offsets if not is_system_topic(topic))


async def _until(condition: Callable[[], bool], timeout_s: float) -> None:
    """Wait for ``condition``, no longer than this."""
    loop = asyncio.get_running_loop()
    ends_s = loop.time() + timeout_s
    while not condition() and loop.time() < ends_s:  # noqa: ASYNC110 (nothing reports what is waited for)
        await asyncio.sleep(_POLL_INTERVAL_S)
