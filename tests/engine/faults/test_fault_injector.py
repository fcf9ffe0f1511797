"""What the rules do to frames that pass a node, in both directions."""

from __future__ import annotations

import logging

import pytest

from engine.faults.delayed_frames import DELAYED_BYTES_MAX, DELAYED_MAX
from engine.faults.errors import FaultRefused
from engine.faults.fault_injector import HITS_KEPT, RULES_MAX
from engine.faults.fault_rule import Direction, FaultAction
from engine.protocol.body.heartbeat_data import HeartbeatData
from engine.protocol.command.remoting_command import RemotingCommand, encode_command
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode

#: Without its length prefix, as it comes to the interceptor.
PULL = encode_command(RemotingCommand.request(RequestCode.PULL_MESSAGE))[4:]


def test_a_dropped_request_never_reaches_the_node(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "PULL_MESSAGE")
    frame_path.pull(wire)
    wire.ask(RequestCode.HEART_BEAT)
    assert [command.code for command in wire.reached_node] == [RequestCode.HEART_BEAT]


def test_a_dropped_reply_was_carried_out_and_never_reaches_the_client(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "reply to PULL_MESSAGE")
    asked, beaten = frame_path.pull(wire), wire.ask(RequestCode.HEART_BEAT)
    wire.answer(asked)
    wire.answer(beaten)
    assert len(wire.reached_node) == 2
    assert [reply.opaque for reply in wire.reached_client] == [beaten.opaque]


def test_requests_of_the_node_are_frames_as_those_of_the_client(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "CHECK_TRANSACTION_STATE")
    for code in (RequestCode.CHECK_TRANSACTION_STATE, RequestCode.NOTIFY_CONSUMER_IDS_CHANGED):
        wire.send(RemotingCommand.request(code, oneway=True))
    assert [command.code for command in wire.reached_client] == [RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]


def test_a_delayed_frame_comes_later_and_others_overtake_it(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DELAY, "PULL_MESSAGE", ms=700)
    frame_path.pull(wire)
    wire.ask(RequestCode.HEART_BEAT)
    frame_path.world.run_for(699)
    assert [command.code for command in wire.reached_node] == [RequestCode.HEART_BEAT]
    frame_path.world.run_for(2)
    assert [command.code for command in wire.reached_node] == [RequestCode.HEART_BEAT, RequestCode.PULL_MESSAGE]


def test_so_many_frames_are_delayed_at_a_time_and_the_others_go_on_at_once(frame_path, monkeypatch):
    assert DELAYED_MAX <= 10_000
    monkeypatch.setattr("engine.faults.delayed_frames.DELAYED_MAX", 2)
    wire = frame_path.wire()
    frame_path.add(FaultAction.DELAY, "PULL_MESSAGE")
    for _ in range(3):
        frame_path.pull(wire)
    assert len(wire.reached_node) == 1
    frame_path.world.run_for(1_001)
    frame_path.pull(wire)
    assert len(wire.reached_node) == 3, "there is room again"


def test_so_many_bytes_are_delayed_at_a_time_and_the_others_go_on_at_once(frame_path, monkeypatch):
    assert DELAYED_BYTES_MAX <= 32 * 1024 * 1024
    monkeypatch.setattr("engine.faults.delayed_frames.DELAYED_BYTES_MAX", 2_500)
    wire = frame_path.wire()
    frame_path.add(FaultAction.DELAY, "SEND_MESSAGE")
    for _ in range(3):
        wire.ask(RequestCode.SEND_MESSAGE, body=bytes(1_000))
    assert len(wire.reached_node) == 1
    frame_path.world.run_for(1_001)
    assert len(wire.reached_node) == 3


def test_delayed_frames_are_something_broken_until_they_go_on_oldest_first(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DELAY, "PULL_MESSAGE", ms=3_600_000, times=2)
    asked = [frame_path.pull(wire) for _ in range(2)]
    assert frame_path.injector.is_active
    frame_path.do(frame_path.injector.clear)
    assert frame_path.injector.is_active
    frame_path.do(frame_path.injector.delayed.pass_all)
    assert [command.opaque for command in wire.reached_node] == [command.opaque for command in asked]
    assert not frame_path.injector.is_active
    frame_path.world.run_for(3_600_001)
    assert len(wire.reached_node) == 2


def test_a_connection_that_ends_takes_its_delayed_frames_with_it(frame_path):
    wire, other = frame_path.wire(), frame_path.wire("10.0.0.9:40001")
    frame_path.add(FaultAction.DELAY, "PULL_MESSAGE")
    frame_path.pull(wire)
    frame_path.pull(other)
    wire.lose()
    assert len(frame_path.injector.delayed) == 1
    frame_path.world.run_for(1_001)
    assert (wire.reached_node, len(other.reached_node)) == ([], 1)


def test_a_duplicated_frame_comes_twice(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DUPLICATE, "PULL_MESSAGE", times=1)
    asked = frame_path.pull(wire)
    frame_path.pull(wire)
    assert [command.opaque for command in wire.reached_node] == [asked.opaque, asked.opaque, asked.opaque + 1]


def test_a_rejected_request_is_answered_by_the_injector_and_names_the_rule(frame_path):
    wire = frame_path.wire()
    rule = frame_path.add(FaultAction.REJECT, "PULL_MESSAGE", code="FLUSH_DISK_TIMEOUT")
    asked = frame_path.pull(wire)
    assert wire.reached_node == []
    (reply,) = wire.reached_client
    assert (reply.is_response, reply.opaque, reply.code) == (True, asked.opaque, ResponseCode.FLUSH_DISK_TIMEOUT)
    assert f"fault {rule.rule_id}" in reply.remark


def test_a_rejected_request_that_wants_no_answer_gets_none(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.REJECT, "END_TRANSACTION")
    wire.ask(RequestCode.END_TRANSACTION, oneway=True)
    assert (wire.reached_node, wire.reached_client) == ([], [])


def test_a_reply_is_never_rejected(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.REJECT)
    wire.send(wire.ask(RequestCode.HEART_BEAT).reply(ResponseCode.SUCCESS))
    assert [reply.code for reply in wire.reached_client] == [ResponseCode.SYSTEM_ERROR, ResponseCode.SUCCESS]


def test_a_frame_that_is_cut_is_lost_with_its_connection(frame_path):
    wire, other = frame_path.wire(), frame_path.wire("10.0.0.9:40001")
    frame_path.add(FaultAction.CUT, "PULL_MESSAGE", times=1)
    frame_path.pull(wire)
    assert wire.connection.is_closing
    assert wire.reached_node == []
    assert not other.connection.is_closing


def test_a_corrupted_frame_differs_in_one_byte_and_the_seed_says_in_which(frame_path):
    changed = []
    for seed in (1, 1, 2):
        wire = frame_path.wire()
        rule = frame_path.add(FaultAction.CORRUPT, "PULL_MESSAGE", seed=seed)
        frame_path.do(lambda wire=wire: wire.interceptor.frame_received(PULL))
        frame_path.do(lambda rule=rule: frame_path.injector.remove(rule.rule_id))
        (frame,) = wire.handler.frames
        (at,) = [at for at in range(len(PULL)) if frame[at] != PULL[at]]
        assert at >= 4, "how it is to be read stays"
        changed.append(at)
    assert changed[0] == changed[1] != changed[2]


def test_a_request_that_is_answered_late_is_carried_out_at_once(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.ANSWER_LATE, "PULL_MESSAGE", ms=300)
    asked, beaten = frame_path.pull(wire), wire.ask(RequestCode.HEART_BEAT)
    assert len(wire.reached_node) == 2
    wire.answer(asked)
    wire.answer(beaten)
    assert [reply.opaque for reply in wire.reached_client] == [beaten.opaque]
    frame_path.world.run_for(301)
    assert [reply.opaque for reply in wire.reached_client] == [beaten.opaque, asked.opaque]


def test_every_request_is_answered_late_where_none_is_named(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.ANSWER_LATE, ms=300)
    wire.answer(wire.ask(RequestCode.HEART_BEAT))
    assert wire.reached_client == []
    frame_path.world.run_for(301)
    assert len(wire.reached_client) == 1


def test_the_first_rule_that_means_a_frame_acts_on_it_and_others_do_not_count_it(frame_path):
    wire = frame_path.wire()
    first = frame_path.add(FaultAction.DROP, "PULL_MESSAGE", times=1)
    second = frame_path.add(FaultAction.DUPLICATE, "PULL_MESSAGE")
    frame_path.pull(wire)
    assert (wire.reached_node, first.hits, second.seen) == ([], 1, 0)
    frame_path.pull(wire)
    assert (len(wire.reached_node), first.hits, second.hits) == (2, 1, 1)


def test_a_client_is_meant_by_its_id_or_by_its_address_while_that_is_not_known(frame_path):
    known, unknown = frame_path.wire("10.0.0.9:40000"), frame_path.wire("10.0.0.9:40001")
    frame_path.client_ids["10.0.0.9:40000"] = "10.0.0.9@7#123"
    frame_path.add(FaultAction.DROP, client="10.0.0.9@7*")
    for wire in (known, unknown):
        frame_path.pull(wire)
    assert (len(known.reached_node), len(unknown.reached_node)) == (0, 1)
    frame_path.do(frame_path.injector.clear)
    frame_path.add(FaultAction.DROP, client="10.0.0.9:40001")
    for wire in (known, unknown):
        frame_path.pull(wire)
    assert (len(known.reached_node), len(unknown.reached_node)) == (1, 1)


def test_a_client_that_connects_anew_is_known_by_the_heartbeat_that_the_rule_is_for(frame_path):
    frame_path.add(FaultAction.DROP, "HEART_BEAT", client="10.0.0.9@7*")
    for wire in (frame_path.wire("10.0.0.9:40000"), frame_path.wire("10.0.0.9:40001")):
        for client_id, reaches in (("10.0.0.9@7#123", 0), ("10.0.0.9@8#123", 0)):
            wire.ask(RequestCode.HEART_BEAT, body=HeartbeatData(client_id).to_json())
            assert len(wire.reached_node) == reaches, "a connection is one client's"
    other = frame_path.wire("10.0.0.9:40002")
    other.ask(RequestCode.HEART_BEAT, body=HeartbeatData("10.0.0.9@8#123").to_json())
    assert len(other.reached_node) == 1


@pytest.mark.parametrize("options", [{"topic": "T"}, {"group": "g"}, {"topic": "T*", "group": "*"}])
def test_a_reply_is_about_what_its_request_was_about(frame_path, options):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "reply", **options)
    asked, other = frame_path.pull(wire), wire.ask(RequestCode.HEART_BEAT)
    wire.answer(asked)
    wire.answer(other)
    assert [reply.opaque for reply in wire.reached_client] == [other.opaque]


def test_each_hit_is_counted_logged_and_reported_and_the_totals_outlive_the_rule(frame_path, caplog):
    wire = frame_path.wire()
    rule = frame_path.add(FaultAction.DROP, "PULL_MESSAGE")
    with caplog.at_level(logging.WARNING, "glassmq.faults"):
        frame_path.pull(wire)
    (hit,) = frame_path.injector.hits
    assert (hit.rule_id, hit.what, hit.direction, hit.frame) == (
        rule.rule_id,
        FaultAction.DROP,
        Direction.IN,
        "PULL_MESSAGE",
    )
    assert "drop PULL_MESSAGE" in caplog.text
    assert "10.0.0.9:40000" in caplog.text
    frame_path.do(frame_path.injector.clear)
    assert frame_path.injector.totals[FaultAction.DROP] == 1


def test_only_the_last_hits_are_kept(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "PULL_MESSAGE")
    for _ in range(HITS_KEPT + 5):
        frame_path.pull(wire)
    assert len(frame_path.injector.hits) == HITS_KEPT
    assert frame_path.injector.totals[FaultAction.DROP] == HITS_KEPT + 5


def test_there_is_room_for_so_many_rules_and_the_next_one_is_refused_by_name(frame_path):
    for _ in range(RULES_MAX):
        frame_path.add(FaultAction.DROP)
    with pytest.raises(FaultRefused, match=str(RULES_MAX)) as refused:
        frame_path.add(FaultAction.DROP)
    assert {*dict(refused.value.text)} == {"en", "zh"}
    assert len(frame_path.injector.rules) == RULES_MAX


def test_a_rule_is_removed_by_its_number_which_no_other_gets(frame_path):
    first, second = frame_path.add(FaultAction.DROP), frame_path.add(FaultAction.CUT)
    frame_path.do(lambda: frame_path.injector.remove(second.rule_id))
    third = frame_path.add(FaultAction.DROP)
    assert third.rule_id not in (first.rule_id, second.rule_id)
    with pytest.raises(FaultRefused, match=f"{first.rule_id}, {third.rule_id}"):
        frame_path.do(lambda: frame_path.injector.remove(second.rule_id))


def test_a_gate_is_active_while_a_rule_may_still_act(frame_path):
    assert not frame_path.injector.is_active
    frame_path.add(FaultAction.DROP, "PULL_MESSAGE", times=1)
    assert frame_path.injector.is_active
    frame_path.pull(frame_path.wire())
    assert not frame_path.injector.is_active
    (spent,) = frame_path.injector.rules
    assert spent.hits == 1, "a spent rule still tells what it did"
    frame_path.add(FaultAction.DROP, for_ms=10)
    frame_path.world.run_for(11)
    assert not frame_path.injector.is_active


@pytest.mark.parametrize("what", list(FaultAction))
def test_every_action_can_be_asked_for_counts_and_ends(frame_path, what):
    wire = frame_path.wire()
    rule = frame_path.add(what, "PULL_MESSAGE", times=1, ms=10)
    asked = frame_path.pull(wire)
    if not wire.connection.is_closing:
        wire.answer(asked)
    assert rule.hits == 1
    frame_path.do(frame_path.injector.clear)
    assert frame_path.injector.rules == ()
    frame_path.world.run_for(11)
    assert not frame_path.injector.is_active
