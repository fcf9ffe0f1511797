"""Frames that no rule concerns bypass the fault injector."""

from __future__ import annotations

import pytest

from engine.faults.fault_rule import FaultAction
from engine.faults.frame_interceptor import REMEMBERED_BYTES_MAX, REQUESTS_REMEMBERED
from engine.protocol.request_code import RequestCode


def test_without_a_rule_an_interceptor_is_the_handler_and_the_connection(frame_path):
    wire = frame_path.wire()
    assert wire.interceptor.frame_received == wire.handler.frame_received
    assert wire.interceptor.send_frame == wire.connection.send_frame


def test_a_rule_guards_the_connections_that_are_there_and_those_that_come_until_it_is_removed(frame_path):
    early = frame_path.wire()
    rule = frame_path.add(FaultAction.DROP, "PULL_MESSAGE")
    late = frame_path.wire("10.0.0.9:40001")
    for wire in (early, late):
        frame_path.pull(wire)
        assert wire.reached_node == []
    frame_path.do(lambda: frame_path.injector.remove(rule.rule_id))
    for wire in (early, late):
        assert wire.interceptor.frame_received == wire.handler.frame_received


def test_a_rule_of_one_direction_leaves_the_other_alone(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "NOTIFY_CONSUMER_IDS_CHANGED", direction="out")
    assert wire.interceptor.frame_received == wire.handler.frame_received
    assert wire.interceptor.send_frame != wire.connection.send_frame


def test_frames_bypass_the_interceptor_once_a_rule_is_spent(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "PULL_MESSAGE", direction="in", times=1)
    frame_path.pull(wire)
    assert wire.interceptor.frame_received == wire.handler.frame_received


def test_frames_bypass_the_interceptor_after_a_rule_has_expired(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "PULL_MESSAGE", for_ms=1_000)
    frame_path.world.run_for(1_001)
    frame_path.pull(wire)
    assert len(wire.reached_node) == 1
    assert wire.interceptor.frame_received == wire.handler.frame_received


@pytest.mark.parametrize("what", [FaultAction.DELAY, FaultAction.HOLD])
def test_what_waited_goes_nowhere_once_its_connection_is_closed(frame_path, what):
    wire = frame_path.wire()
    frame_path.add(what, "PULL_MESSAGE", ms=500)
    frame_path.pull(wire)
    wire.connection.close()
    frame_path.world.run_for(60_000)
    assert wire.reached_node == []


def test_requests_without_answers_are_remembered_up_to_a_bound(frame_path, monkeypatch):
    monkeypatch.setattr("engine.faults.frame_interceptor.REQUESTS_REMEMBERED", 10)
    assert REQUESTS_REMEMBERED > 10
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "reply to PULL_MESSAGE")
    asked = [frame_path.pull(wire) for _ in range(11)]
    wire.answer(asked[0])
    wire.answer(asked[-1])
    assert [reply.opaque for reply in wire.reached_client] == [asked[0].opaque], "the oldest is forgotten first"


def test_large_requests_are_remembered_up_to_a_bound_of_bytes(frame_path, monkeypatch):
    assert REMEMBERED_BYTES_MAX <= 4 * 1024 * 1024
    monkeypatch.setattr("engine.faults.frame_interceptor.REMEMBERED_BYTES_MAX", 2_500)
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "reply to SEND_MESSAGE")
    asked = [wire.ask(RequestCode.SEND_MESSAGE, body=bytes(1_000)) for _ in range(3)]
    wire.answer(asked[0])
    wire.answer(asked[-1])
    assert [reply.opaque for reply in wire.reached_client] == [asked[0].opaque], "the oldest is forgotten first"


def test_what_the_node_never_gets_is_not_remembered(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "SEND_MESSAGE")
    frame_path.add(FaultAction.DROP, "reply to SEND_MESSAGE")
    wire.answer(wire.ask(RequestCode.SEND_MESSAGE))
    assert len(wire.reached_client) == 1, "nobody knows what it answers"


def test_a_frame_that_cannot_be_read_goes_on_to_the_handler_which_says_so(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP)
    frame_path.do(lambda: wire.interceptor.frame_received(b"?"))
    assert wire.handler.frames == [b"?"]


def test_a_door_is_a_connection_like_the_one_behind_it(frame_path):
    wire = frame_path.wire()
    interceptor = wire.handler.connection
    assert (interceptor.remote_address, interceptor.local_address) == (
        wire.connection.remote_address,
        wire.connection.local_address,
    )
    wire.connection.unsent_bytes, wire.connection.has_room = 7, False
    assert (interceptor.unsent_bytes, interceptor.has_room, interceptor.is_closing) == (7, False, False)
    interceptor.close()
    assert wire.connection.is_closing
    assert interceptor.is_closing


def test_opening_a_connection_forgets_what_was_asked_on_it_when_nothing_is_looked_at_any_more(frame_path):
    wire = frame_path.wire()
    rule = frame_path.add(FaultAction.DELAY, "reply to PULL_MESSAGE")
    asked = frame_path.pull(wire)
    frame_path.do(lambda: frame_path.injector.remove(rule.rule_id))
    frame_path.add(FaultAction.DROP, "reply to PULL_MESSAGE")
    wire.answer(asked)
    assert len(wire.reached_client) == 1, "its request was asked before anybody looked"
