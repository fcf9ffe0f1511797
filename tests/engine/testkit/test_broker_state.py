"""The state of the broker at each frame of a recording."""

from __future__ import annotations

import asyncio

import pytest

from engine.client import ConsumeOrderlyStatus, LocalTransactionState, Message
from engine.protocol.command.remoting_command import decode_command
from engine.testkit import GlassMQ
from engine.testkit.failed_test import recorded_frames
from tests.support.live.kit_clients import Listener, consuming, send, transactional


@pytest.fixture
def recorder():
    with GlassMQ(records_frames=True) as broker:
        yield broker


def states_of(broker):
    """The state after each change: part -> row -> values."""
    found, state = {0: {}}, {}
    for number, part, name, values in recorded_frames(broker)["states"]:
        state = {**state, part: {**state.get(part, {}), name: values}}
        found[number] = state
    return found


def test_each_sent_message_is_in_its_queue_from_its_reply_on(recorder):
    recorder.create_topic("orders", queues=1)
    send(recorder, Message("orders", b"1"), Message("orders", b"2"))
    replies = recorder.at_gate(
        lambda injector: [
            one.number for one in injector.frame_record if "queueOffset" in decode_command(one.frame).ext_fields
        ]
    )
    ends = {}
    for number, state in states_of(recorder).items():
        if end := state.get("queues", {}).get("orders 0"):
            ends.setdefault(end[1], number)
    first, second = replies
    assert first <= ends[1] < second <= ends[2]


def test_locks_held_pulls_offsets_and_lag_of_a_group_are_there(recorder):
    recorder.create_topic("orders", queues=1)
    send(recorder, Message("orders", b"1"))

    async def consume():
        async def listener(_messages, _context):
            return ConsumeOrderlyStatus.SUCCESS

        async with consuming(recorder, "orders", listener, orderly=True):
            await asyncio.to_thread(recorder.assert_consumed, "billing", "orders")

    asyncio.run(consume())
    states = [*states_of(recorder).values()]
    offsets = [state["offsets"]["billing orders 0"] for state in states if "offsets" in state]
    assert ["-", 1] in offsets
    assert offsets[-1] == [1, 0]
    assert any("billing orders 0" in state.get("locks", {}) for state in states)
    assert any("billing orders 0" in state.get("held_pulls", {}) for state in states)
    assert any(state.get("groups", {}).get("billing") == [1, 0, 0] for state in states)


def test_a_half_message_is_there_until_it_is_decided(recorder):
    recorder.create_topic("orders", queues=1)

    async def transfer():
        listener = Listener(LocalTransactionState.COMMIT_MESSAGE, LocalTransactionState.COMMIT_MESSAGE)
        async with transactional(recorder, listener) as producer:
            await producer.send_message_in_transaction(Message("orders", b"1", keys="17"))
            await asyncio.to_thread(recorder.wait_for, "orders")

    asyncio.run(transfer())
    halves = [values for _, part, _, values in recorded_frames(recorder)["states"] if part == "half_messages"]
    assert halves == [["17", "bank", "orders"], []]


def test_a_crash_and_the_clock_are_there(recorder):
    with recorder.faults.crash():
        crashed = recorded_frames(recorder)
    recorder.advance(minutes=1)
    send(recorder, Message("orders", b"1"))
    assert crashed is None
    changes = [values for _, part, _, values in recorded_frames(recorder)["states"] if part == "broker"]
    # A minute by the broker's clock, less what passed by itself between two looks at it.
    ahead_ms = recorder._machines.ahead_ms
    assert 0 < ahead_ms <= 60_000
    assert changes[-1] == [1, ahead_ms]


def test_rules_that_acted_are_recorded_as_they_were_made(recorder):
    recorder.create_topic("orders", queues=1)
    with recorder.faults.answer_late("SEND_MESSAGE_V2", key="17", ms=50):
        send(recorder, Message("orders", b"1", keys="17"))
    (rule,) = recorded_frames(recorder)["rules"]
    assert {name: rule[name] for name in ("what", "frame", "direction", "key", "ms", "hits")} == {
        "what": "answer-late",
        "frame": "SEND_MESSAGE_V2",
        "direction": "",
        "key": "17",
        "ms": 50,
        "hits": 1,
    }
