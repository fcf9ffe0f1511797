"""Frames that are held: in order, bounded, and never forever."""

from __future__ import annotations

import logging

import pytest

from engine.faults.errors import FaultRefused
from engine.faults.fault_injector import HOLD_LEASE_MS
from engine.faults.fault_rule import Direction, FaultAction
from engine.faults.held_frames import HELD_BYTES_MAX, HELD_FRAMES_MAX
from engine.protocol.request_code import RequestCode


@pytest.fixture
def wire(frame_path):
    """Its pulls are held."""
    wire = frame_path.wire()
    frame_path.add(FaultAction.HOLD, "PULL_MESSAGE")
    return wire


def opaques(commands):
    return [command.opaque for command in commands]


def held_of(frame_path):
    return frame_path.injector.held.frames


def test_a_held_frame_waits_and_is_reported_with_what_it_is_about(frame_path, wire):
    asked = frame_path.pull(wire)
    wire.ask(RequestCode.HEART_BEAT)
    assert [command.code for command in wire.reached_node] == [RequestCode.HEART_BEAT]
    (held,) = held_of(frame_path)
    assert (held.client, held.direction, held.subject.name) == ("10.0.0.9:40000", Direction.IN, "PULL_MESSAGE")
    assert (held.subject.topics, held.subject.groups, held.subject.command.opaque) == (("T",), ("g",), asked.opaque)
    assert frame_path.injector.is_active


def test_one_frame_is_let_pass_or_dropped_and_the_others_wait(frame_path, wire):
    asked = [frame_path.pull(wire) for _ in range(3)]
    first, second, third = held_of(frame_path)
    frame_path.do(lambda: frame_path.injector.let_pass(second.held_id))
    frame_path.do(lambda: frame_path.injector.drop_held(first.held_id))
    assert opaques(wire.reached_node) == [asked[1].opaque]
    assert held_of(frame_path) == (third,)
    for act in (frame_path.injector.let_pass, frame_path.injector.drop_held):
        with pytest.raises(FaultRefused, match=str(first.held_id)):
            frame_path.do(lambda act=act: act(first.held_id))


def test_replies_are_held_as_requests_are(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.HOLD, "reply to PULL_MESSAGE")
    asked = frame_path.pull(wire)
    wire.answer(asked)
    assert wire.reached_client == []
    (held,) = held_of(frame_path)
    assert (held.direction, held.subject.name, held.subject.topics) == (
        Direction.OUT,
        "reply to PULL_MESSAGE",
        ("T",),
    )
    frame_path.do(lambda: frame_path.injector.let_pass(held.held_id))
    assert opaques(wire.reached_client) == [asked.opaque]


def test_all_go_on_in_the_order_in_which_they_came_and_nothing_is_held_any_more(frame_path, wire):
    asked = [frame_path.pull(wire) for _ in range(3)]
    assert frame_path.do(frame_path.injector.stop_holding) == 3
    frame_path.pull(wire)
    assert opaques(wire.reached_node) == [*opaques(asked), asked[-1].opaque + 1]
    assert frame_path.injector.rules == ()


def test_clearing_all_rules_lets_held_frames_go_on(frame_path, wire):
    frame_path.pull(wire)
    frame_path.do(frame_path.injector.clear)
    assert len(wire.reached_node) == 1


def test_removing_the_rule_keeps_what_it_holds_until_somebody_decides(frame_path, wire):
    frame_path.pull(wire)
    frame_path.do(lambda: frame_path.injector.remove(frame_path.injector.rules[0].rule_id))
    assert len(held_of(frame_path)) == 1
    frame_path.world.run_for(HOLD_LEASE_MS + 1)
    assert len(wire.reached_node) == 1


def test_held_frames_go_on_when_nobody_has_looked_for_the_time_of_the_lease(frame_path, wire, caplog):
    frame_path.pull(wire)
    frame_path.world.run_for(HOLD_LEASE_MS - 1_000)
    assert frame_path.do(frame_path.injector.lease_left_ms) == pytest.approx(1_000, abs=10)
    frame_path.do(frame_path.injector.look)
    frame_path.world.run_for(HOLD_LEASE_MS - 1_000)
    assert wire.reached_node == []
    with caplog.at_level(logging.WARNING, "glassmq.faults"):
        frame_path.world.run_for(1_001)
    assert len(wire.reached_node) == 1
    assert frame_path.injector.rules == ()
    assert "nobody has looked" in caplog.text
    assert frame_path.do(frame_path.injector.lease_left_ms) == 0


def test_a_held_frame_is_lost_with_its_connection(frame_path, wire):
    frame_path.pull(wire)
    wire.lose()
    assert held_of(frame_path) == ()
    frame_path.do(frame_path.injector.clear)
    assert wire.reached_node == []


@pytest.mark.parametrize("bound", ["HELD_FRAMES_MAX", "HELD_BYTES_MAX"])
def test_when_too_much_is_held_all_goes_on_in_order_and_nothing_is_held_any_more(frame_path, wire, monkeypatch, bound):
    assert (HELD_FRAMES_MAX, HELD_BYTES_MAX) == (1_000, 32 * 1024 * 1024)
    first = frame_path.pull(wire)
    size = len(held_of(frame_path)[0].frame)
    monkeypatch.setattr(f"engine.faults.held_frames.{bound}", 2 if bound == "HELD_FRAMES_MAX" else size * 2 + 10)
    asked = [first, frame_path.pull(wire), frame_path.pull(wire), frame_path.pull(wire)]
    assert opaques(wire.reached_node) == opaques(asked)
    assert held_of(frame_path) == ()
    assert frame_path.injector.rules == ()


def test_room_is_free_again_once_frames_are_gone(frame_path, wire, monkeypatch):
    frame_path.pull(wire)
    monkeypatch.setattr("engine.faults.held_frames.HELD_BYTES_MAX", len(held_of(frame_path)[0].frame) + 10)
    frame_path.do(lambda: frame_path.injector.drop_held(held_of(frame_path)[0].held_id))
    frame_path.pull(wire)
    assert len(held_of(frame_path)) == 1
