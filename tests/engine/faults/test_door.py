"""Frames that no rule concerns do not pass through the gate."""

from __future__ import annotations

import pytest

from engine.faults.door import REMEMBERED_BYTES_MAX, REQUESTS_REMEMBERED
from engine.faults.fault_rule import Deed
from engine.protocol.request_code import RequestCode


def test_while_there_is_no_rule_a_door_is_the_handler_and_the_connection_themselves(doorway):
    wire = doorway.wire()
    assert wire.door.frame_received == wire.handler.frame_received
    assert wire.door.send_frame == wire.connection.send_frame


def test_a_rule_guards_the_connections_that_are_there_and_those_that_come_until_it_is_removed(doorway):
    early = doorway.wire()
    rule = doorway.add(Deed.DROP, "PULL_MESSAGE")
    late = doorway.wire("10.0.0.9:40001")
    for wire in (early, late):
        doorway.pull(wire)
        assert wire.reached_node == []
    doorway.do(lambda: doorway.gate.remove(rule.rule_id))
    for wire in (early, late):
        assert wire.door.frame_received == wire.handler.frame_received


def test_a_rule_of_one_direction_leaves_the_other_alone(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DROP, "NOTIFY_CONSUMER_IDS_CHANGED", direction="out")
    assert wire.door.frame_received == wire.handler.frame_received
    assert wire.door.send_frame != wire.connection.send_frame


def test_a_rule_that_is_spent_opens_the_doors(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DROP, "PULL_MESSAGE", direction="in", times=1)
    doorway.pull(wire)
    assert wire.door.frame_received == wire.handler.frame_received


def test_a_rule_whose_time_is_over_opens_the_doors_at_the_next_frame(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DROP, "PULL_MESSAGE", for_ms=1_000)
    doorway.world.run_for(1_001)
    doorway.pull(wire)
    assert len(wire.reached_node) == 1
    assert wire.door.frame_received == wire.handler.frame_received


@pytest.mark.parametrize("what", [Deed.DELAY, Deed.HOLD])
def test_what_waited_goes_nowhere_once_its_connection_is_closed(doorway, what):
    wire = doorway.wire()
    doorway.add(what, "PULL_MESSAGE", ms=500)
    doorway.pull(wire)
    wire.connection.close()
    doorway.world.run_for(60_000)
    assert wire.reached_node == []


def test_requests_without_answers_are_remembered_up_to_a_bound(doorway, monkeypatch):
    monkeypatch.setattr("engine.faults.door.REQUESTS_REMEMBERED", 10)
    assert REQUESTS_REMEMBERED > 10
    wire = doorway.wire()
    doorway.add(Deed.DROP, "reply to PULL_MESSAGE")
    asked = [doorway.pull(wire) for _ in range(11)]
    wire.answer(asked[0])
    wire.answer(asked[-1])
    assert [reply.opaque for reply in wire.reached_client] == [asked[0].opaque], "the oldest is forgotten first"


def test_large_requests_are_remembered_up_to_a_bound_of_bytes(doorway, monkeypatch):
    assert REMEMBERED_BYTES_MAX <= 4 * 1024 * 1024
    monkeypatch.setattr("engine.faults.door.REMEMBERED_BYTES_MAX", 2_500)
    wire = doorway.wire()
    doorway.add(Deed.DROP, "reply to SEND_MESSAGE")
    asked = [wire.ask(RequestCode.SEND_MESSAGE, body=bytes(1_000)) for _ in range(3)]
    wire.answer(asked[0])
    wire.answer(asked[-1])
    assert [reply.opaque for reply in wire.reached_client] == [asked[0].opaque], "the oldest is forgotten first"


def test_what_the_node_never_gets_is_not_remembered(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DROP, "SEND_MESSAGE")
    doorway.add(Deed.DROP, "reply to SEND_MESSAGE")
    wire.answer(wire.ask(RequestCode.SEND_MESSAGE))
    assert len(wire.reached_client) == 1, "nobody knows what it answers"


def test_a_frame_that_cannot_be_read_goes_on_to_the_handler_which_says_so(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DROP)
    doorway.do(lambda: wire.door.frame_received(b"?"))
    assert wire.handler.frames == [b"?"]


def test_a_door_is_a_connection_like_the_one_behind_it(doorway):
    wire = doorway.wire()
    door = wire.handler.connection
    assert (door.remote_address, door.local_address) == (wire.connection.remote_address, wire.connection.local_address)
    wire.connection.unsent_bytes, wire.connection.has_room = 7, False
    assert (door.unsent_bytes, door.has_room, door.is_closing) == (7, False, False)
    door.close()
    assert wire.connection.is_closing
    assert door.is_closing


def test_opening_a_connection_forgets_what_was_asked_on_it_when_nothing_is_looked_at_any_more(doorway):
    wire = doorway.wire()
    rule = doorway.add(Deed.DELAY, "reply to PULL_MESSAGE")
    asked = doorway.pull(wire)
    doorway.do(lambda: doorway.gate.remove(rule.rule_id))
    doorway.add(Deed.DROP, "reply to PULL_MESSAGE")
    wire.answer(asked)
    assert len(wire.reached_client) == 1, "its request was asked before anybody looked"
