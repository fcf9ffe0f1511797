"""What the rules do to frames that pass a node's door, in both directions."""

from __future__ import annotations

import logging

import pytest

from engine.faults.delayed_frames import DELAYED_BYTES_MAX, DELAYED_MAX
from engine.faults.errors import FaultRefused
from engine.faults.fault_gate import HITS_KEPT, RULES_MAX
from engine.faults.fault_rule import Deed, Direction
from engine.protocol.body.heartbeat_data import HeartbeatData
from engine.protocol.command.remoting_command import RemotingCommand, encode_command
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode

#: Without its length prefix, as it comes to the door.
PULL = encode_command(RemotingCommand.request(RequestCode.PULL_MESSAGE))[4:]


def test_a_dropped_request_never_reaches_the_node(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DROP, "PULL_MESSAGE")
    doorway.pull(wire)
    wire.ask(RequestCode.HEART_BEAT)
    assert [command.code for command in wire.reached_node] == [RequestCode.HEART_BEAT]


def test_a_dropped_reply_was_carried_out_and_never_reaches_the_client(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DROP, "reply to PULL_MESSAGE")
    asked, beaten = doorway.pull(wire), wire.ask(RequestCode.HEART_BEAT)
    wire.answer(asked)
    wire.answer(beaten)
    assert len(wire.reached_node) == 2
    assert [reply.opaque for reply in wire.reached_client] == [beaten.opaque]


def test_requests_of_the_node_are_frames_as_those_of_the_client(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DROP, "CHECK_TRANSACTION_STATE")
    for code in (RequestCode.CHECK_TRANSACTION_STATE, RequestCode.NOTIFY_CONSUMER_IDS_CHANGED):
        wire.send(RemotingCommand.request(code, oneway=True))
    assert [command.code for command in wire.reached_client] == [RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]


def test_a_delayed_frame_comes_later_and_others_overtake_it(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DELAY, "PULL_MESSAGE", ms=700)
    doorway.pull(wire)
    wire.ask(RequestCode.HEART_BEAT)
    doorway.world.run_for(699)
    assert [command.code for command in wire.reached_node] == [RequestCode.HEART_BEAT]
    doorway.world.run_for(2)
    assert [command.code for command in wire.reached_node] == [RequestCode.HEART_BEAT, RequestCode.PULL_MESSAGE]


def test_so_many_frames_are_delayed_at_a_time_and_the_others_go_on_at_once(doorway, monkeypatch):
    assert DELAYED_MAX <= 10_000
    monkeypatch.setattr("engine.faults.delayed_frames.DELAYED_MAX", 2)
    wire = doorway.wire()
    doorway.add(Deed.DELAY, "PULL_MESSAGE")
    for _ in range(3):
        doorway.pull(wire)
    assert len(wire.reached_node) == 1
    doorway.world.run_for(1_001)
    doorway.pull(wire)
    assert len(wire.reached_node) == 3, "there is room again"


def test_so_many_bytes_are_delayed_at_a_time_and_the_others_go_on_at_once(doorway, monkeypatch):
    assert DELAYED_BYTES_MAX <= 32 * 1024 * 1024
    monkeypatch.setattr("engine.faults.delayed_frames.DELAYED_BYTES_MAX", 2_500)
    wire = doorway.wire()
    doorway.add(Deed.DELAY, "SEND_MESSAGE")
    for _ in range(3):
        wire.ask(RequestCode.SEND_MESSAGE, body=bytes(1_000))
    assert len(wire.reached_node) == 1
    doorway.world.run_for(1_001)
    assert len(wire.reached_node) == 3


def test_delayed_frames_are_something_broken_until_they_go_on_oldest_first(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DELAY, "PULL_MESSAGE", ms=3_600_000, times=2)
    asked = [doorway.pull(wire) for _ in range(2)]
    assert doorway.gate.is_active
    doorway.do(doorway.gate.clear)
    assert doorway.gate.is_active
    doorway.do(doorway.gate.delayed.pass_all)
    assert [command.opaque for command in wire.reached_node] == [command.opaque for command in asked]
    assert not doorway.gate.is_active
    doorway.world.run_for(3_600_001)
    assert len(wire.reached_node) == 2


def test_a_connection_that_ends_takes_its_delayed_frames_with_it(doorway):
    wire, other = doorway.wire(), doorway.wire("10.0.0.9:40001")
    doorway.add(Deed.DELAY, "PULL_MESSAGE")
    doorway.pull(wire)
    doorway.pull(other)
    wire.lose()
    assert len(doorway.gate.delayed) == 1
    doorway.world.run_for(1_001)
    assert (wire.reached_node, len(other.reached_node)) == ([], 1)


def test_a_duplicated_frame_comes_twice(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DUPLICATE, "PULL_MESSAGE", times=1)
    asked = doorway.pull(wire)
    doorway.pull(wire)
    assert [command.opaque for command in wire.reached_node] == [asked.opaque, asked.opaque, asked.opaque + 1]


def test_a_rejected_request_is_answered_at_the_door_by_the_rule_that_is_named(doorway):
    wire = doorway.wire()
    rule = doorway.add(Deed.REJECT, "PULL_MESSAGE", code="FLUSH_DISK_TIMEOUT")
    asked = doorway.pull(wire)
    assert wire.reached_node == []
    (reply,) = wire.reached_client
    assert (reply.is_response, reply.opaque, reply.code) == (True, asked.opaque, ResponseCode.FLUSH_DISK_TIMEOUT)
    assert f"fault {rule.rule_id}" in reply.remark


def test_a_rejected_request_that_wants_no_answer_gets_none(doorway):
    wire = doorway.wire()
    doorway.add(Deed.REJECT, "END_TRANSACTION")
    wire.ask(RequestCode.END_TRANSACTION, oneway=True)
    assert (wire.reached_node, wire.reached_client) == ([], [])


def test_a_reply_is_never_rejected(doorway):
    wire = doorway.wire()
    doorway.add(Deed.REJECT)
    wire.send(wire.ask(RequestCode.HEART_BEAT).reply(ResponseCode.SUCCESS))
    assert [reply.code for reply in wire.reached_client] == [ResponseCode.SYSTEM_ERROR, ResponseCode.SUCCESS]


def test_a_frame_that_is_cut_is_lost_with_its_connection(doorway):
    wire, other = doorway.wire(), doorway.wire("10.0.0.9:40001")
    doorway.add(Deed.CUT, "PULL_MESSAGE", times=1)
    doorway.pull(wire)
    assert wire.connection.is_closing
    assert wire.reached_node == []
    assert not other.connection.is_closing


def test_a_corrupted_frame_differs_in_one_byte_and_the_seed_says_in_which(doorway):
    changed = []
    for seed in (1, 1, 2):
        wire = doorway.wire()
        rule = doorway.add(Deed.CORRUPT, "PULL_MESSAGE", seed=seed)
        doorway.do(lambda wire=wire: wire.door.frame_received(PULL))
        doorway.do(lambda rule=rule: doorway.gate.remove(rule.rule_id))
        (frame,) = wire.handler.frames
        (at,) = [at for at in range(len(PULL)) if frame[at] != PULL[at]]
        assert at >= 4, "how it is to be read stays"
        changed.append(at)
    assert changed[0] == changed[1] != changed[2]


def test_a_request_that_is_answered_late_is_carried_out_at_once(doorway):
    wire = doorway.wire()
    doorway.add(Deed.ANSWER_LATE, "PULL_MESSAGE", ms=300)
    asked, beaten = doorway.pull(wire), wire.ask(RequestCode.HEART_BEAT)
    assert len(wire.reached_node) == 2
    wire.answer(asked)
    wire.answer(beaten)
    assert [reply.opaque for reply in wire.reached_client] == [beaten.opaque]
    doorway.world.run_for(301)
    assert [reply.opaque for reply in wire.reached_client] == [beaten.opaque, asked.opaque]


def test_every_request_is_answered_late_where_none_is_named(doorway):
    wire = doorway.wire()
    doorway.add(Deed.ANSWER_LATE, ms=300)
    wire.answer(wire.ask(RequestCode.HEART_BEAT))
    assert wire.reached_client == []
    doorway.world.run_for(301)
    assert len(wire.reached_client) == 1


def test_the_first_rule_that_means_a_frame_acts_on_it_and_others_do_not_count_it(doorway):
    wire = doorway.wire()
    first = doorway.add(Deed.DROP, "PULL_MESSAGE", times=1)
    second = doorway.add(Deed.DUPLICATE, "PULL_MESSAGE")
    doorway.pull(wire)
    assert (wire.reached_node, first.hits, second.seen) == ([], 1, 0)
    doorway.pull(wire)
    assert (len(wire.reached_node), first.hits, second.hits) == (2, 1, 1)


def test_a_client_is_meant_by_its_id_or_by_its_address_while_that_is_not_known(doorway):
    known, unknown = doorway.wire("10.0.0.9:40000"), doorway.wire("10.0.0.9:40001")
    doorway.client_ids["10.0.0.9:40000"] = "10.0.0.9@7#123"
    doorway.add(Deed.DROP, client="10.0.0.9@7*")
    for wire in (known, unknown):
        doorway.pull(wire)
    assert (len(known.reached_node), len(unknown.reached_node)) == (0, 1)
    doorway.do(doorway.gate.clear)
    doorway.add(Deed.DROP, client="10.0.0.9:40001")
    for wire in (known, unknown):
        doorway.pull(wire)
    assert (len(known.reached_node), len(unknown.reached_node)) == (1, 1)


def test_a_client_that_connects_anew_is_known_by_the_heartbeat_that_the_rule_is_for(doorway):
    doorway.add(Deed.DROP, "HEART_BEAT", client="10.0.0.9@7*")
    for wire in (doorway.wire("10.0.0.9:40000"), doorway.wire("10.0.0.9:40001")):
        for client_id, reaches in (("10.0.0.9@7#123", 0), ("10.0.0.9@8#123", 0)):
            wire.ask(RequestCode.HEART_BEAT, body=HeartbeatData(client_id).to_json())
            assert len(wire.reached_node) == reaches, "a connection is one client's"
    other = doorway.wire("10.0.0.9:40002")
    other.ask(RequestCode.HEART_BEAT, body=HeartbeatData("10.0.0.9@8#123").to_json())
    assert len(other.reached_node) == 1


@pytest.mark.parametrize("options", [{"topic": "T"}, {"group": "g"}, {"topic": "T*", "group": "*"}])
def test_a_reply_is_about_what_its_request_was_about(doorway, options):
    wire = doorway.wire()
    doorway.add(Deed.DROP, "reply", **options)
    asked, other = doorway.pull(wire), wire.ask(RequestCode.HEART_BEAT)
    wire.answer(asked)
    wire.answer(other)
    assert [reply.opaque for reply in wire.reached_client] == [other.opaque]


def test_each_hit_is_counted_logged_and_told_and_the_totals_outlive_the_rule(doorway, caplog):
    wire = doorway.wire()
    rule = doorway.add(Deed.DROP, "PULL_MESSAGE")
    with caplog.at_level(logging.WARNING, "glassmq.faults"):
        doorway.pull(wire)
    (hit,) = doorway.gate.hits
    assert (hit.rule_id, hit.what, hit.direction, hit.frame) == (
        rule.rule_id,
        Deed.DROP,
        Direction.IN,
        "PULL_MESSAGE",
    )
    assert "drop PULL_MESSAGE" in caplog.text
    assert "10.0.0.9:40000" in caplog.text
    doorway.do(doorway.gate.clear)
    assert doorway.gate.totals[Deed.DROP] == 1


def test_only_the_last_hits_are_kept(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DROP, "PULL_MESSAGE")
    for _ in range(HITS_KEPT + 5):
        doorway.pull(wire)
    assert len(doorway.gate.hits) == HITS_KEPT
    assert doorway.gate.totals[Deed.DROP] == HITS_KEPT + 5


def test_there_is_room_for_so_many_rules_and_the_next_one_is_refused_by_name(doorway):
    for _ in range(RULES_MAX):
        doorway.add(Deed.DROP)
    with pytest.raises(FaultRefused, match=str(RULES_MAX)) as refused:
        doorway.add(Deed.DROP)
    assert {*dict(refused.value.text)} == {"en", "zh"}
    assert len(doorway.gate.rules) == RULES_MAX


def test_a_rule_is_removed_by_its_number_which_no_other_gets(doorway):
    first, second = doorway.add(Deed.DROP), doorway.add(Deed.CUT)
    doorway.do(lambda: doorway.gate.remove(second.rule_id))
    third = doorway.add(Deed.DROP)
    assert third.rule_id not in (first.rule_id, second.rule_id)
    with pytest.raises(FaultRefused, match=f"{first.rule_id}, {third.rule_id}"):
        doorway.do(lambda: doorway.gate.remove(second.rule_id))


def test_a_gate_is_active_while_a_rule_may_still_act(doorway):
    assert not doorway.gate.is_active
    doorway.add(Deed.DROP, "PULL_MESSAGE", times=1)
    assert doorway.gate.is_active
    doorway.pull(doorway.wire())
    assert not doorway.gate.is_active
    (spent,) = doorway.gate.rules
    assert spent.hits == 1, "a spent rule still tells what it did"
    doorway.add(Deed.DROP, for_ms=10)
    doorway.world.run_for(11)
    assert not doorway.gate.is_active


@pytest.mark.parametrize("what", list(Deed))
def test_every_deed_can_be_asked_for_counts_and_ends(doorway, what):
    wire = doorway.wire()
    rule = doorway.add(what, "PULL_MESSAGE", times=1, ms=10)
    asked = doorway.pull(wire)
    if not wire.connection.is_closing:
        wire.answer(asked)
    assert rule.hits == 1
    doorway.do(doorway.gate.clear)
    assert doorway.gate.rules == ()
    doorway.world.run_for(11)
    assert not doorway.gate.is_active
