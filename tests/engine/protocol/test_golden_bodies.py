"""Bodies as the real client and broker wrote them are read, and ours say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.protocol.body.bodies import (
    ClusterInfo,
    LockBatchRequestBody,
    LockBatchResponseBody,
    ResetOffsetBody,
    TopicConfigSerializeWrapper,
)
from engine.protocol.body.heartbeat_data import HeartbeatData
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig
from engine.protocol.body.topic_route_data import TopicRouteData

FRAMES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "golden" / "wire-first-of-each.jsonl").read_text().splitlines()
]


def body_of(code: int, direction: str) -> bytes:
    frames = (f for f in FRAMES if f["header"]["code"] == code and f["dir"] == direction and f["body"])
    return str(next(frames)["body"]).encode()


def reply_body(marker: str) -> bytes:
    return next(str(f["body"]).encode() for f in FRAMES if f["dir"] == "S" and marker in str(f["body"]))


def test_a_java_heartbeat_is_read_and_written_back() -> None:
    body = body_of(34, "C")
    heartbeat = HeartbeatData.from_json(body)
    assert heartbeat.consumers
    assert HeartbeatData.from_json(heartbeat.to_json()) == heartbeat
    assert {c["groupName"] for c in json.loads(body)["consumerDataSet"]} == {c.group_name for c in heartbeat.consumers}


def test_a_cpp_heartbeat_is_read() -> None:
    frames = (f["body"] for f in FRAMES if f["header"].get("language") == "CPP" and f["header"]["code"] == 34)
    # The capture holds this body as hex digits: it ends with a newline.
    assert HeartbeatData.from_json(bytes.fromhex(next(frames))).client_id


def test_lock_bodies_are_read_and_written_back() -> None:
    request = LockBatchRequestBody.from_json(body_of(41, "C"))
    assert request.mq_set
    assert json.loads(request.to_json()) == json.loads(body_of(41, "C"))
    response = LockBatchResponseBody.from_json(reply_body("lockOKMQSet"))
    assert LockBatchResponseBody.from_json(response.to_json()) == response


def test_a_route_is_read_and_written_back() -> None:
    body = reply_body('"queueDatas"')
    assert json.loads(TopicRouteData.from_json(body).to_json()) == json.loads(body)


def test_the_cluster_with_unquoted_keys_is_read() -> None:
    cluster = ClusterInfo.from_json(reply_body("brokerAddrTable"))
    assert cluster.broker_addr_table["broker-a"].master_address == "127.0.0.1:10911"
    assert ClusterInfo.from_json(cluster.to_json()) == cluster


def test_the_brokers_of_a_cluster_are_sorted_in_whichever_order_they_came() -> None:
    cluster = ClusterInfo({}, {"c": ["broker-b", "broker-c", "broker-a"]})
    assert json.loads(cluster.to_json())["clusterAddrTable"] == {"c": ["broker-a", "broker-b", "broker-c"]}


def test_a_group_config_is_written_as_java_writes_it() -> None:
    body = json.loads(body_of(200, "C"))
    assert SubscriptionGroupConfig.from_dict(body).to_dict() == body


def test_a_reset_body_with_object_keys_is_read_and_written_back() -> None:
    body = body_of(220, "S")
    reset = ResetOffsetBody.from_json(body)
    assert len(reset.offset_table) == 2
    assert ResetOffsetBody.from_json(reset.to_json()) == reset
    # The same text but for the order of the queues, which is a hash map's in Java and sorted here.
    assert sorted(reset.to_json()) == sorted(body)


def test_an_empty_topic_table_is_read() -> None:
    assert TopicConfigSerializeWrapper.from_dict({}).topic_config_table == {}
