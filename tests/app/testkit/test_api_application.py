"""The test kit's HTTP API: what each operation answers, and how it refuses."""

from __future__ import annotations

import threading

import pytest

from engine.client import Message, MQClientError
from tests.support.live.kit_clients import send


def messages_of(answer):
    status, reply = answer
    assert status == 200, reply
    return [(one["body"], one["tags"], one["keys"]) for one in reply["messages"]]


def test_messages_are_found_waited_for_and_checked(api, glassmq):
    assert api("POST", "/topics", {"topic": "orders", "queues": 1}) == (200, {"done": True})
    send(glassmq, Message("orders", b"10", "placed", "17"), Message("orders", b"\xff", "paid", "17"))
    assert messages_of(api("GET", "/messages", query="topic=orders")) == [
        ("10", "placed", ["17"]),
        (None, "paid", ["17"]),
    ]
    waited = api("POST", "/wait-for", {"topic": "orders", "count": 2, "key": "17"})
    assert [one["body_base64"] for one in waited[1]["messages"]] == ["MTA=", "/w=="]
    assert len(messages_of(api("POST", "/assert-sent", {"topic": "orders", "tag": "paid", "count": 1}))) == 1
    assert api("GET", "/lag", query="group=audit&topic=orders")[0] == 409


def test_a_failed_check_answers_with_the_table_of_what_was_there(api, glassmq):
    send(glassmq, Message("orders", b"5", "paid", "17"))
    status, reply = api("POST", "/assert-sent", {"topic": "orders", "key": "17", "body": "10"})
    assert (status, reply["kind"]) == (409, "expectation")
    assert "same key, but another body" in reply["error"]


def test_a_rule_counts_its_hits_until_it_ends(api, glassmq):
    status, rule = api("POST", "/faults", {"what": "delay", "ms": 1, "frame": "SEND_MESSAGE_V2", "times": 1})
    assert (status, rule["hits"], rule["rule"]) == (200, 0, "faults.delay('SEND_MESSAGE_V2', ms=1, times=1)")
    send(glassmq, Message("orders", b"1"))
    path = f"/faults/{rule['fault_id']}"
    assert api("POST", f"{path}/wait", {"count": 1})[1]["hits"] == 1
    assert api("GET", path)[1]["hits"] == 1
    assert [one["hits"] for one in api("GET", "/faults")[1]["faults"]] == [1]
    assert api("DELETE", path)[1]["hits"] == 1
    assert api("DELETE", "/faults") == (200, {"done": True})
    assert api("GET", path)[0] == 404


def test_a_rule_that_acted_on_no_frame_is_an_error_at_the_end(api):
    api("POST", "/faults", {"what": "drop", "frame": "END_TRANSACTION"})
    status, reply = api("DELETE", "/faults")
    assert (status, reply["kind"]) == (409, "expectation")
    assert "acted on no frame" in reply["error"]
    api("POST", "/faults", {"what": "drop", "frame": "END_TRANSACTION"})
    assert api("DELETE", "/faults", query="unhit=ignore")[0] == 200


def test_held_frames_go_on_when_they_are_released(api, glassmq):
    rule = api("POST", "/faults", {"what": "hold", "frame": "SEND_MESSAGE_V2"})[1]
    path = f"/faults/{rule['fault_id']}"
    sender = threading.Thread(target=send, args=(glassmq, Message("orders", b"1")))
    sender.start()
    assert api("POST", f"{path}/wait", {})[0] == 200
    assert api("GET", path)[1]["waiting"] == 1
    assert api("POST", f"{path}/release") == (200, {"released": 1})
    sender.join(10)
    assert len(messages_of(api("POST", "/wait-for", {"topic": "orders"}))) == 1


def test_a_crashed_broker_is_restarted_with_its_messages(api, glassmq):
    send(glassmq, Message("orders", b"1"))
    assert api("POST", "/crash")[0] == 200
    status, reply = api("GET", "/messages", query="topic=orders")
    assert (status, reply["kind"]) == (409, "refused")
    assert reply["error"] == reply["text"]["en"]
    assert reply["error"].startswith("the broker is crashed")
    assert "Broker 已崩溃" in reply["text"]["zh"]
    assert api("POST", "/restart")[0] == 200
    assert len(messages_of(api("GET", "/messages", query="topic=orders"))) == 1


def test_an_unknown_frame_is_refused_in_both_languages(api):
    status, reply = api("POST", "/faults", {"what": "drop", "frame": "PULL"})
    assert (status, reply["kind"]) == (409, "refused")
    assert reply["text"] == {
        "en": "there is no request 'PULL'; did you mean PULL_MESSAGE?",
        "zh": "没有请求 'PULL'；是否想写 PULL_MESSAGE？",
    }


def test_a_full_disk_takes_messages_again_once_it_has_room(api, glassmq):
    assert api("POST", "/full-disk")[0] == 200
    with pytest.raises(MQClientError):
        send(glassmq, Message("orders", b"1"), retry_times_when_send_failed=0)
    assert api("POST", "/full-disk", {"on": False})[0] == 200
    send(glassmq, Message("orders", b"2"))


@pytest.mark.parametrize(
    ("path", "begin", "end", "condition"),
    [
        ("/fail-fsync", {}, {"on": False}, "flushes_fail"),
        ("/slow-fsync", {"ms": 20}, {"ms": 0}, "flush_ms"),
    ],
)
def test_a_fault_of_flushes_begins_and_ends(api, glassmq, path, begin, end, condition):
    assert api("POST", path, begin)[0] == 200
    assert getattr(glassmq._machines.broker_disk, condition)
    assert api("POST", path, end)[0] == 200
    assert not getattr(glassmq._machines.broker_disk, condition)


def test_a_paused_broker_answers_after_it_is_resumed(api):
    assert api("POST", "/pause", {"seconds": 600})[0] == 200
    assert api("POST", "/resume")[0] == 200
    assert api("GET", "/groups") == (200, {"groups": []})


def test_a_delayed_message_arrives_once_time_is_advanced(api, glassmq):
    send(glassmq, Message("orders", b"1", delay_level=18))
    assert messages_of(api("GET", "/messages", query="topic=orders")) == []
    assert api("POST", "/advance", {"hours": 2, "seconds": 1})[0] == 200
    assert len(messages_of(api("POST", "/wait-for", {"topic": "orders"}))) == 1
    assert api("POST", "/reset")[0] == 200
    assert messages_of(api("GET", "/messages", query="topic=orders")) == []


@pytest.mark.parametrize(
    ("call", "status", "words"),
    [
        (("GET", "/messges"), 404, "/api/testkit/messages"),
        (("PUT", "/crash"), 405, "allowed: POST"),
        (("POST", "/advance", {"minute": 1}), 400, "did you mean minutes?"),
        (("POST", "/advance", {"minutes": -1}), 400, "minutes: -1 is not allowed; allowed: a number from 0"),
        (("POST", "/advance", {}), 409, "1 ms to 366 days"),
        (("POST", "/faults", {"what": "drop", "ms": 1}), 409, "what=delay, answer-late"),
        (("POST", "/faults", {"what": "drop", "frame": "SEND_MESAGE"}), 409, "did you mean"),
        (("POST", "/faults", {"what": "dorp"}), 400, "drop, delay, duplicate"),
        (("GET", "/faults/7"), 404, "fault_id: 7 is not allowed; allowed: no id"),
        (("POST", "/topics", {"topic": "no topic"}), 409, "no topic"),
        (("GET", "/locks"), 400, "group: is missing"),
    ],
)
def test_bad_use_is_answered_with_what_is_allowed(api, call, status, words):
    found, reply = api(*call)
    assert (found, words in reply["error"]) == (status, True), reply
    if reply["kind"] == "parameter":
        assert reply["text"]["zh"] != reply["text"]["en"]


def test_a_body_must_be_json_of_a_bounded_size(api):
    assert "application/json" in api("POST", "/topics", {"topic": "a"}, CONTENT_TYPE="text/plain")[1]["error"]
    assert api("POST", "/topics", raw=b"{")[0] == 400
    for length in ("99999999999", "9" * 5_000, "-1", "1e3", "٣", "²"):
        assert api("POST", "/topics", CONTENT_LENGTH=length)[0] == 400
    assert api("GET", "/messages", query="topic=a&topic=b")[0] == 400


def test_an_integer_may_be_written_with_a_point(api):
    assert api("POST", "/topics", raw=b'{"topic": "orders", "queues": 2.0}')[0] == 200
    assert "2.5 is not allowed" in api("POST", "/topics", raw=b'{"topic": "orders", "queues": 2.5}')[1]["error"]


def test_a_web_page_cannot_use_the_api(api):
    status, reply = api("POST", "/crash", HTTP_ORIGIN="https://example.org")
    assert (status, reply["parameter"]) == (400, "Origin")
    assert api("GET", "/groups")[0] == 200
