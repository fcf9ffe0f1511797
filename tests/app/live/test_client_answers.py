"""Answers to 307 as JSON: RocketMQ's own, and such as no honest client would give."""

from __future__ import annotations

import json

import pytest

from app.foundation.json_text import dump_json
from app.live.client_answers import QUEUES_MAX, running_info_view
from app.picture.consumer_group import RunningInfo
from engine.client.consumer.consumer_running_info import (
    ANSWER_NODES_MAX,
    INTERNALS_PROPERTY,
    OFFSETS_FILE_PROPERTY,
    QUEUES_IN_RESET_PROPERTY,
    SUSPENDED_PROPERTY,
    process_queue_info,
)
from engine.client.queues.process_queue import ProcessQueue
from engine.protocol.json_form.json_text import ObjectKeyMap, dumps_json
from tests.engine.broker.processors.test_admin_processors import captured_reply
from tests.support.picture.schema_problems import schema_problems

KEY = {"brokerName": "b", "queueId": 1, "topic": "T"}


def test_the_answer_of_the_java_client_is_shown_with_what_it_does_not_tell():
    view = running_info_view(captured_reply(307)["body"].encode())
    assert [(queue["topic"], queue["queue_id"]) for queue in view["queues"]] == [("GT", 0), ("GT", 1)]
    queue = view["queues"][0]
    assert (queue["broker"], queue["message_count"], queue["consume_offset"], queue["dropped"]) == (
        "broker-a",
        0,
        4,
        False,
    )
    assert (queue["last_pull_us"], queue["last_consume_us"]) == (1795252737717000, 1795252737718000)
    assert (view["orderly"], view["threads"], view["started_us"]) == (False, 20, 1795252735744000)
    assert view["rates"]["GT"] == {"ok_per_s": 0.6, "failed_per_s": 0.1, "rt_ms": 2.2857142857142856, "failed": 0}
    assert view["untold"] == ["trees"]
    assert queue["tree"] is None
    assert list(schema_problems(view, RunningInfo)) == []


@pytest.mark.parametrize("value", [None, -1, 2**63 - 1, -(2**63) + 1, "7", "x", [], {}, True, 1.5])
def test_whatever_a_client_reports_the_view_follows_the_schema(value):
    queue = dict.fromkeys(process_queue_info(ProcessQueue(lambda: 0), None), value)
    inside = dict.fromkeys(("msgTreeMap", "consuming", "lockMaxLiveTime", "consumeLock", "localLock"), value)
    inside["consumingMsgOrderlyTreeMap"] = {"offset": 1, "key": value, "red": value, "left": value, "right": value}
    inside["consumeLock"] = {"owner": value, "waiters": value}
    properties = {INTERNALS_PROPERTY: json.dumps({"T@b@1": inside}), "PROP_CONSUMER_START_TIMESTAMP": value}
    rates = dict.fromkeys(("consumeOKTPS", "consumeFailedTPS", "consumeRT", "consumeFailedMsgs"), value)
    info = {"properties": properties, "mqTable": ObjectKeyMap([(KEY, queue)]), "statusTable": {"T": rates}}
    view = running_info_view(dumps_json(info))
    assert len(view["queues"]) == 1
    assert dump_json(view)
    assert list(schema_problems(view, RunningInfo)) == []


@pytest.mark.parametrize(
    ("properties", "shown"),
    [
        ({}, (None, None, "")),
        ({SUSPENDED_PROPERTY: "false", QUEUES_IN_RESET_PROPERTY: "0"}, (False, 0, "")),
        ({SUSPENDED_PROPERTY: "true", QUEUES_IN_RESET_PROPERTY: "3"}, (True, 3, "")),
        ({OFFSETS_FILE_PROPERTY: "written"}, (None, None, "")),
        ({OFFSETS_FILE_PROPERTY: "the disk is full"}, (None, None, "the disk is full")),
    ],
)
def test_why_a_member_does_not_consume_or_store_its_offsets_is_shown(properties, shown):
    view = running_info_view(dumps_json({"properties": properties}))
    assert (view["suspended"], view["queues_in_reset"], view["offsets_failure"]) == shown


@pytest.mark.parametrize("key", [KEY, json.dumps(KEY)])
def test_numbers_and_keys_may_be_texts_and_what_is_missing_is_said(key):
    reported = {"cachedMsgCount": "3", "droped": "1"}
    table = ObjectKeyMap([(key, reported)]) if isinstance(key, dict) else {key: reported, "no queue": reported}
    (queue,) = running_info_view(dumps_json({"mqTable": table}))["queues"]
    assert (queue["topic"], queue["queue_id"], queue["message_count"], queue["dropped"]) == ("T", 1, 3, True)
    view = running_info_view(dumps_json({"mqTable": ObjectKeyMap([(KEY, {"droped": False})])}))
    assert view["untold"] == ["trees", "counts", "times"]


def test_queues_and_trees_without_end_are_cut():
    tree: dict[str, object] | None = None
    for number in range(500):
        tree = {"offset": number, "key": "k" * 500, "red": True, "left": tree, "right": None}
    many: dict[str, object] = {"offset": 1, "key": "", "red": 1, "left": None, "right": None}
    for _ in range(11):
        many = {**many, "left": many, "right": many}
    internals = {"T@b@0": {"msgTreeMap": tree, "consumeLock": {"owner": 7}}, "T@b@1": {"msgTreeMap": many}}
    pairs: list[tuple[dict[str, object], object]] = [
        ({**KEY, "queueId": number}, {}) for number in range(QUEUES_MAX + 5)
    ]
    body = dumps_json({"properties": {INTERNALS_PROPERTY: json.dumps(internals)}, "mqTable": ObjectKeyMap(pairs)})
    view = running_info_view(body)
    assert (len(view["queues"]), view["omitted_queues"]) == (QUEUES_MAX, 5)

    def size(node):
        return 0 if node is None else 1 + size(node["left"]) + size(node["right"])

    first, second = view["queues"][:2]
    assert 50 < size(first["tree"]) < 70
    assert len(first["tree"]["key"]) < 210
    assert size(first["tree"]) + size(second["tree"]) == ANSWER_NODES_MAX
    assert first["consume_lock"] == {"owner": "7", "waiter_count": 0, "on": True}
