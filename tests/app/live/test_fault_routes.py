"""Fault injection into the running engine over HTTP: the answers, and the refusals, by name and in both languages."""

from __future__ import annotations

import threading

import pytest

from app.live.fault_routes import COMMANDS_MAX
from app.live.fault_service import LIVE_COMMANDS
from engine.faults.fault_injector import RULES_MAX
from engine.texts import LANGUAGES
from tests.support.live.live_server import LiveServer, message

DROP = {"kind": "fault", "target": "broker-a", "what": "drop", "frame": "HEART_BEAT", "client": "nobody"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("data"), allow_faults=True) as server:
        yield server


@pytest.fixture
def live(server):
    yield server
    assert server.ask("DELETE", "/api/faults")[1]["rules"] == []


def texts_of(answer):
    """The refusal in both languages; they differ."""
    assert {*answer["text"]} == {*LANGUAGES}
    assert answer["text"]["en"] == answer["error"]
    assert answer["text"]["zh"] != answer["error"]
    return answer["error"]


def test_a_rule_is_added_reported_and_removed(live):
    status, view = live.ask("POST", "/api/faults", {**DROP, "times": 3, "for_ms": 60_000})
    assert status == 200
    (rule,) = view["rules"]
    assert (rule["what"], rule["frame"], rule["client"], rule["times"]) == ("drop", "HEART_BEAT", "nobody", 3)
    assert (rule["seen"], rule["hits"], rule["is_spent"]) == (0, 0, False)
    assert 0 < rule["ends_in_ms"] <= 60_000
    reported = live.get("/api/faults")[1]
    assert (reported["is_allowed"], reported["is_active"], reported["rules"][0]["rule_id"]) == (
        True,
        True,
        rule["rule_id"],
    )
    assert live.ask("DELETE", f"/api/faults/{rule['rule_id']}")[1]["rules"] == []
    status, answer = live.ask("DELETE", f"/api/faults/{rule['rule_id']}")
    assert status == 409
    assert str(rule["rule_id"]) in texts_of(answer)


def kinds_of(live):
    """The kinds of what the history marks, with their texts."""
    events = live.get("/api/live/history?from=0")[1]["events"]
    assert all(set(event["text"]) == {*LANGUAGES} for event in events)
    return [(event["kind"], event["text"]["en"]) for event in events if event["kind"] != "rebalance"]


def test_the_history_marks_the_start_faults_and_a_restart(live):
    assert kinds_of(live)[0] == ("start", "The broker starts")
    before = len(kinds_of(live))
    # Each lasts less than the second between two samples.
    live.ask("POST", "/api/faults", {"kind": "disk-full", "target": "broker-a"})
    live.ask("POST", "/api/faults", {"kind": "disk-free", "target": "broker-a"})
    live.ask("POST", "/api/faults", DROP)
    live.ask("DELETE", "/api/faults")
    live.ask("POST", "/api/faults", {"kind": "crash", "target": "name-server"})
    live.ask("POST", "/api/faults", {"kind": "restart", "target": "name-server"})
    live.ask("POST", "/api/faults", {"kind": "crash", "target": "broker-a"})
    live.ask("POST", "/api/faults", {"kind": "restart", "target": "broker-a"})
    assert kinds_of(live)[before:] == [
        ("fault_on", "Fault: the disk is full"),
        ("fault_off", "Fault over: the disk is full"),
        ("fault_on", "Fault: Drop HEART_BEAT"),
        ("fault_off", "Fault over: Drop HEART_BEAT"),
        ("fault_on", "Fault: name server was killed"),
        ("fault_off", "Fault over: name server was killed"),
        ("stop", "The broker stops"),
        ("start", "The broker starts"),
    ]
    assert [event["kind"] for event in live.get("/api/live/state")[1]["events"]][-2:] == ["stop", "start"]


def test_several_commands_are_obeyed_in_order_up_to_the_first_that_is_refused(live):
    commands = [DROP, {**DROP, "what": "delay"}, {**DROP, "what": "explode"}, DROP]
    status, answer = live.ask("POST", "/api/faults", {"commands": commands})
    assert status == 400
    assert "explode" in texts_of(answer)
    assert [rule["what"] for rule in live.get("/api/faults")[1]["rules"]] == ["drop", "delay"]


def test_ten_thousand_rules_are_refused_by_name(live):
    assert live.ask("POST", "/api/faults", {"commands": [DROP] * (COMMANDS_MAX + 1)})[0] == 400
    answers = [live.ask("POST", "/api/faults", {"commands": [DROP] * 50}) for _ in range(RULES_MAX // 50 + 1)]
    assert [status for status, _ in answers] == [200] * (RULES_MAX // 50) + [409]
    assert str(RULES_MAX) in texts_of(answers[-1][1])
    assert len(live.get("/api/faults")[1]["rules"]) == RULES_MAX


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"topic": "a*b"}, "topic"),
        ({"client": "(a+)+$" * 100}, "client"),
        ({"key": "*k"}, "key"),
        ({"frame": "PULL"}, "PULL_MESSAGE"),
        ({"what": None}, "what"),
        ({"direction": "both"}, "in, out"),
        ({"what": "reject", "code": "TEAPOT"}, "SYSTEM_BUSY"),
        ({"every": 0}, "every"),
        ({"ratio": 2}, "ratio"),
        ({"times": 1.5}, "times"),
        ({"times": True}, "times"),
        ({"for_ms": 86_400_001}, "for_ms"),
        ({"seed": 2**60}, "seed"),
        ({"to": "c1"}, "to"),
        ({"kind": "explode"}, "fault, drop-next"),
        ({"kind": ["fault"]}, "fault, drop-next"),
        ({"target": "x" * 201}, "200"),
        ({"target": ""}, "broker"),
    ],
)
def test_a_field_that_cannot_be_is_refused_by_name_with_what_is_allowed(live, fields, words):
    status, answer = live.ask("POST", "/api/faults", {**DROP, **fields})
    assert status == 400
    assert words in texts_of(answer)


def test_what_the_engine_cannot_do_now_is_refused_otherwise_than_what_cannot_be(live):
    for body, words in (
        ({**DROP, "target": "broker-b"}, "broker-a"),
        ({"kind": "restart", "target": "broker-a"}, "broker-a"),
        ({**DROP, "what": "reject", "frame": "reply"}, "reject"),
        ({"kind": "give-lock", "target": "broker-a", "group": "g", "topic": "T", "to": "c"}, "T Q0"),
    ):
        status, answer = live.ask("POST", "/api/faults", body)
        assert status == 409
        assert words in texts_of(answer)


@pytest.mark.parametrize(
    ("method", "path", "body", "parameter"),
    [
        ("POST", "", {"kind": "fault", "target": "broker-a", "explode": 1}, "fault.explode"),
        ("POST", "", {"commands": [], "kind": "fault"}, "kind"),
        ("POST", "", {"commands": "fault"}, "commands"),
        ("POST", "", b"{", "body"),
        ("POST", "", [DROP], "command"),
        ("GET", "?of=1", None, "of"),
        ("DELETE", "/x", None, "rule"),
        ("DELETE", "/0", None, "rule"),
        ("POST", "/held", {"action": "drop"}, "action"),
        ("POST", "/held/1", {"action": "eat"}, "action"),
        ("POST", "/held/1", {}, "action"),
        ("POST", "/held/-1", {"action": "pass"}, "held"),
        ("POST", "/held/1", {"action": "pass", "fields": {"b": 1}}, "fields.b"),
        ("POST", "/held/1", {"action": "pass", "properties": {"KEYS": "k" * 32_768}}, "properties.KEYS"),
        ("POST", "/held/1", {"action": "pass", "properties": {str(n): "" for n in range(101)}}, "properties"),
        ("POST", "/held/1", {"action": "pass", "body": 1}, "body"),
        ("POST", "/held/1", {"action": "pass", "body": "x" * 49_153}, "body"),
        ("POST", "/held/1", {"action": "pass", "body": "\ud800"}, "body"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused_by_name(live, method, path, body, parameter):
    status, answer = live.ask(method, f"/api/faults{path}", body)
    assert (status, answer["parameter"]) == (400, parameter)
    assert answer["allowed"]


def test_a_form_of_another_site_breaks_nothing(live):
    assert live.ask("POST", "/api/faults", DROP, content_type="text/plain")[0] == 400
    assert live.get("/api/faults")[1]["rules"] == []


def test_a_frame_that_is_not_held_any_more_is_refused_in_both_languages(live):
    for body in ({"action": "pass"}, {"action": "drop"}, {"action": "pass", "properties": {"KEYS": "k"}}):
        status, answer = live.ask("POST", "/api/faults/held/4711", body)
        assert status == 409
        assert "4711" in texts_of(answer)


def test_held_frames_are_changed_dropped_and_let_pass(live):
    live.ask("POST", "/api/faults", {"kind": "fault", "target": "broker-a", "what": "hold", "topic": "T"})
    sender = threading.Thread(target=lambda: live.send(message("T", keys="k1")))
    sender.start()
    held = live.faults_when(lambda view: any(one["name"] == "SEND_MESSAGE_V2" for one in view["held"]))["held"]
    (send,) = [one for one in held if one["name"] == "SEND_MESSAGE_V2"]
    path = f"/api/faults/held/{send['id']}"
    for wrong in ({"fields": {"topic": "U"}}, {"properties": {"a\x01b": "1"}}):
        status, answer = live.ask("POST", path, {"action": "pass", **wrong})
        assert status == 409
        assert texts_of(answer)
    assert live.ask("POST", "/api/faults/look")[1]["lease_ms"] > 29_000, "it still waits"
    assert live.ask("POST", path, {"action": "pass", "properties": {"KEYS": "k2"}})[0] == 200
    assert live.ask("POST", "/api/faults/held", {"action": "pass"})[1]["held"] == []
    sender.join(60)
    assert not live.get("/api/faults")[1]["is_active"]
    assert [len(live.find("T", key, 9)) for key in ("k1", "k2")] == [0, 1]


def test_a_server_that_does_not_allow_faults_cannot_be_broken(tmp_path):
    with LiveServer(tmp_path / "data") as live:
        assert live.get("/api/faults") == (200, {"is_allowed": False, "is_active": False})
        for method, path, body in (
            ("POST", "", DROP),
            ("DELETE", "", None),
            ("DELETE", "/1", None),
            ("POST", "/look", None),
            ("POST", "/held", {"action": "pass"}),
            ("POST", "/held/1", {"action": "pass"}),
        ):
            status, answer = live.ask(method, f"/api/faults{path}", body)
            assert status == 403
            assert "--allow-faults" in texts_of(answer)


def test_rules_are_offered_for_frames_between_the_broker_and_its_clients_only():
    (frame,) = (field for field in LIVE_COMMANDS["fault"].fields if field.name == "frame")
    assert {"SEND_MESSAGE_V2", "reply to PULL_MESSAGE", "CHECK_TRANSACTION_STATE", "reply", ""} <= {*frame.allowed}
    # Those of Kafka, of Raft, of two-phase commit, and of the name server.
    assert {"FETCH", "REQUEST_VOTE", "XA_BEGIN", "REGISTER_BROKER", "GET_ROUTEINFO_BY_TOPIC"}.isdisjoint(frame.allowed)
