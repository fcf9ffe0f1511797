"""Frames that wait at the gate: in order, bounded, and never forever."""

from __future__ import annotations

import logging

import pytest

from engine.faults.errors import FaultRefused
from engine.faults.fault_gate import HOLD_LEASE_MS
from engine.faults.fault_rule import Deed, Direction
from engine.faults.held_frames import HELD_BYTES_MAX, HELD_FRAMES_MAX
from engine.protocol.request_code import RequestCode


@pytest.fixture
def wire(doorway):
    """Its pulls are held."""
    wire = doorway.wire()
    doorway.add(Deed.HOLD, "PULL_MESSAGE")
    return wire


def opaques(commands):
    return [command.opaque for command in commands]


def held_of(doorway):
    return doorway.gate.held.frames


def test_a_held_frame_waits_and_is_told_with_what_it_is_about(doorway, wire):
    asked = doorway.pull(wire)
    wire.ask(RequestCode.HEART_BEAT)
    assert [command.code for command in wire.reached_node] == [RequestCode.HEART_BEAT]
    (held,) = held_of(doorway)
    assert (held.client, held.direction, held.subject.name) == ("10.0.0.9:40000", Direction.IN, "PULL_MESSAGE")
    assert (held.subject.topics, held.subject.groups, held.subject.command.opaque) == (("T",), ("g",), asked.opaque)
    assert doorway.gate.is_active


def test_one_frame_is_let_pass_or_dropped_and_the_others_wait(doorway, wire):
    asked = [doorway.pull(wire) for _ in range(3)]
    first, second, third = held_of(doorway)
    doorway.do(lambda: doorway.gate.let_pass(second.held_id))
    doorway.do(lambda: doorway.gate.drop_held(first.held_id))
    assert opaques(wire.reached_node) == [asked[1].opaque]
    assert held_of(doorway) == (third,)
    for act in (doorway.gate.let_pass, doorway.gate.drop_held):
        with pytest.raises(FaultRefused, match=str(first.held_id)):
            doorway.do(lambda act=act: act(first.held_id))


def test_replies_are_held_as_requests_are(doorway):
    wire = doorway.wire()
    doorway.add(Deed.HOLD, "reply to PULL_MESSAGE")
    asked = doorway.pull(wire)
    wire.answer(asked)
    assert wire.reached_client == []
    (held,) = held_of(doorway)
    assert (held.direction, held.subject.name, held.subject.topics) == (
        Direction.OUT,
        "reply to PULL_MESSAGE",
        ("T",),
    )
    doorway.do(lambda: doorway.gate.let_pass(held.held_id))
    assert opaques(wire.reached_client) == [asked.opaque]


def test_all_go_on_in_the_order_in_which_they_came_and_nothing_is_held_any_more(doorway, wire):
    asked = [doorway.pull(wire) for _ in range(3)]
    assert doorway.do(doorway.gate.stop_holding) == 3
    doorway.pull(wire)
    assert opaques(wire.reached_node) == [*opaques(asked), asked[-1].opaque + 1]
    assert doorway.gate.rules == ()


def test_clearing_all_rules_lets_held_frames_go_on(doorway, wire):
    doorway.pull(wire)
    doorway.do(doorway.gate.clear)
    assert len(wire.reached_node) == 1


def test_removing_the_rule_keeps_what_it_holds_until_somebody_decides(doorway, wire):
    doorway.pull(wire)
    doorway.do(lambda: doorway.gate.remove(doorway.gate.rules[0].rule_id))
    assert len(held_of(doorway)) == 1
    doorway.world.run_for(HOLD_LEASE_MS + 1)
    assert len(wire.reached_node) == 1


def test_held_frames_go_on_when_nobody_has_looked_for_the_time_of_the_lease(doorway, wire, caplog):
    doorway.pull(wire)
    doorway.world.run_for(HOLD_LEASE_MS - 1_000)
    assert doorway.do(doorway.gate.lease_left_ms) == pytest.approx(1_000, abs=10)
    doorway.do(doorway.gate.look)
    doorway.world.run_for(HOLD_LEASE_MS - 1_000)
    assert wire.reached_node == []
    with caplog.at_level(logging.WARNING, "glassmq.faults"):
        doorway.world.run_for(1_001)
    assert len(wire.reached_node) == 1
    assert doorway.gate.rules == ()
    assert "nobody has looked" in caplog.text
    assert doorway.do(doorway.gate.lease_left_ms) == 0


def test_a_held_frame_is_lost_with_its_connection(doorway, wire):
    doorway.pull(wire)
    wire.lose()
    assert held_of(doorway) == ()
    doorway.do(doorway.gate.clear)
    assert wire.reached_node == []


@pytest.mark.parametrize("bound", ["HELD_FRAMES_MAX", "HELD_BYTES_MAX"])
def test_when_too_much_is_held_all_goes_on_in_order_and_nothing_is_held_any_more(doorway, wire, monkeypatch, bound):
    assert (HELD_FRAMES_MAX, HELD_BYTES_MAX) == (1_000, 32 * 1024 * 1024)
    first = doorway.pull(wire)
    size = len(held_of(doorway)[0].frame)
    monkeypatch.setattr(f"engine.faults.held_frames.{bound}", 2 if bound == "HELD_FRAMES_MAX" else size * 2 + 10)
    asked = [first, doorway.pull(wire), doorway.pull(wire), doorway.pull(wire)]
    assert opaques(wire.reached_node) == opaques(asked)
    assert held_of(doorway) == ()
    assert doorway.gate.rules == ()


def test_room_is_free_again_once_frames_are_gone(doorway, wire, monkeypatch):
    doorway.pull(wire)
    monkeypatch.setattr("engine.faults.held_frames.HELD_BYTES_MAX", len(held_of(doorway)[0].frame) + 10)
    doorway.do(lambda: doorway.gate.drop_held(held_of(doorway)[0].held_id))
    doorway.pull(wire)
    assert len(held_of(doorway)) == 1
