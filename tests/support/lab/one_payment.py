"""One payment in a transaction, in a small world that tests break: what the broker's queues hold, who got what.

The times: the transaction begins at 1 s; the broker asks every 2 s about half messages older than 2 s, three times.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.broker.transactions.half_message import check_times, decided_offset
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_text import parse_scenario
from engine.protocol.message.message import MessageExt
from engine.protocol.names import (
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
)
from tests.support.lab.checked_run import broker_of

TEXT = """
title: {en: Faults, zh: 故障}
about: {en: A test., zh: 测试。}
seed: 1
duration_ms: 60000
network: {latency_ms: 2}
nodes:
  N1: {role: name_server}
  B1: {role: broker, settings: {transactionTimeOut: 2000, transactionCheckInterval: 2000, transactionCheckMax: 3}}
  P1:
    role: producer
    group: payers
    traffic: {topic: Payments, count: 1, start_ms: 1000, key: "order-{n}", body: "order {n} is paid"}
    transaction: {duration_ms: 100}
  C1:
    role: consumer
    group: shipping
    topic: Payments
    listener: {duration_ms: 20}
topics:
  Payments: {queues: 1}
"""


def payment(*replacements: tuple[str, str]) -> LabRun:
    """One payment at 1 s, with parts of the scenario replaced."""
    text = TEXT
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    return LabRun(parse_scenario(text, "faults"))


def stored(run: LabRun, topic: str) -> list[MessageExt]:
    """What queue 0 of a topic holds, oldest first."""
    store = broker_of(run).store
    entries = store.consume_queue_entries(topic, 0, 0, 100)
    messages = [store.message_at(place) for place, _, _ in entries]
    return [message for message in messages if message is not None]


def copies(run: LabRun) -> list[int]:
    """The half queue: for each copy of a half message how often its producer was asked before it was put there."""
    return [check_times(half) for half in stored(run, TRANSACTION_HALF_TOPIC)]


def decided(run: LabRun) -> list[int | None]:
    """The op queue: which offset of the half queue each op message marks."""
    return [decided_offset(op) for op in stored(run, TRANSACTION_OP_HALF_TOPIC)]


def given_up(run: LabRun) -> list[str]:
    return [message.keys[0] for message in stored(run, TRANSACTION_CHECK_MAX_TIME_TOPIC)]


def visible(run: LabRun) -> list[str]:
    """What the topic itself holds."""
    return [message.keys[0] for message in stored(run, "Payments")]


def consumed(run: LabRun) -> list[str]:
    return [call.key for call in run.world.history.consumes_ended if call.result == "success"]


def answers(run: LabRun) -> list[tuple[str, int, str]]:
    """Who said what: to which question (0: the local transaction itself ended), and how."""
    return [(entry.node, entry.check, entry.result) for entry in run.world.history.transactions_ended]


def reported(run: LabRun, count: int) -> Callable[[], bool]:
    """Return whether the transaction listeners have ended this many calls."""
    return lambda: len(run.world.history.transactions_ended) >= count
