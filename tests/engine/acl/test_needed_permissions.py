"""What each request needs, and what of it an account without that permission is refused."""

from __future__ import annotations

import pytest

from engine.acl.access_rules import read_rules
from engine.acl.acl_signer import ACCESS_KEY, SIGNATURE, sign
from engine.acl.errors import AccessDenied, BadAccessConfig
from engine.acl.needed_permissions import RULES_OF_REQUESTS, needed_permissions
from engine.acl.permission import Permission
from engine.acl.plain_permission_manager import PlainPermissionManager
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.body.subscription_data import build_subscription_data
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from engine.protocol.request_code import RequestCode
from engine.runtime.lab.lab_runtime import LabMachines

PUB, SUB = Permission.PUB, Permission.SUB
TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"

NEEDS: list[tuple[RequestCode, dict[str, str], dict[str, Permission]]] = [
    (RequestCode.SEND_MESSAGE, {"topic": "T"}, {"T": PUB}),
    (RequestCode.SEND_MESSAGE, {"topic": "%RETRY%g", "producerGroup": "other"}, {"%RETRY%g": SUB}),
    (RequestCode.SEND_MESSAGE_V2, {"b": "T", "topic": "other"}, {"T": PUB}),
    (RequestCode.SEND_MESSAGE_V2, {"b": "%RETRY%g", "a": "other"}, {"%RETRY%g": SUB}),
    (RequestCode.SEND_BATCH_MESSAGE, {"b": "T"}, {"T": PUB}),
    (RequestCode.CONSUMER_SEND_MSG_BACK, {"group": "g", "originTopic": "T"}, {"%RETRY%g": SUB}),
    (RequestCode.PULL_MESSAGE, {"topic": "T", "consumerGroup": "g"}, {"T": SUB, "%RETRY%g": SUB}),
    (RequestCode.QUERY_MESSAGE, {"topic": "T"}, {"T": SUB}),
    (RequestCode.UNREGISTER_CLIENT, {"consumerGroup": "g", "producerGroup": "p"}, {"%RETRY%g": SUB}),
    (RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "g"}, {"%RETRY%g": SUB}),
    (RequestCode.UPDATE_CONSUMER_OFFSET, {"topic": "T", "consumerGroup": "g"}, {"T": SUB, "%RETRY%g": SUB}),
    (RequestCode.LOCK_BATCH_MQ, {"topic": "T", "consumerGroup": "g"}, {}),
]


def request_of(code: int, fields: dict[str, str], body: bytes = b"") -> RemotingCommand:
    request = RemotingCommand.request(code, body=body)
    request.ext_fields = dict(fields)
    return request


@pytest.mark.parametrize(("code", "fields", "needed"), NEEDS)
def test_what_a_request_needs(code: RequestCode, fields: dict[str, str], needed: dict[str, Permission]) -> None:
    assert needed_permissions(request_of(code, fields)) == needed


def test_every_rule_is_tried_above() -> None:
    assert {code for code, _, needed in NEEDS if needed} | {RequestCode.HEART_BEAT} == set(RULES_OF_REQUESTS)


def test_a_heartbeat_needs_its_groups_and_all_topics_that_they_subscribe_to() -> None:
    consumers = [
        ConsumerData(
            group,
            ConsumeType.CONSUME_PASSIVELY,
            MessageModel.CLUSTERING,
            ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            tuple(build_subscription_data(topic, "*") for topic in topics),
        )
        for group, topics in (("g", ("T", "%RETRY%g")), ("h", ("U",)))
    ]
    heartbeat = request_of(RequestCode.HEART_BEAT, {}, HeartbeatData("client", (), tuple(consumers)).to_json())
    assert needed_permissions(heartbeat) == {"%RETRY%g": SUB, "T": SUB, "%RETRY%h": SUB, "U": SUB}


RULES = """\
accounts:
  - accessKey: shop-key
    secretKey: shop-secret
    topicPerms: [T=PUB]
"""


def refused(code: RequestCode, **fields: str) -> bool:
    world = LabMachines(seed=1)
    try:
        node = world.node("broker-a")
        node.disk.write_whole("rules", RULES.encode())
        manager = PlainPermissionManager(node.disk, "rules", node.clock)
        manager.load()
        signed = {**fields, ACCESS_KEY: "shop-key"}
        signed[SIGNATURE] = sign(signed, b"", b"shop-secret")
        try:
            manager.validate("10.0.0.9", request_of(code, signed))
        except AccessDenied:
            return True
        return False
    finally:
        world.close()


def test_every_account_may_write_traces_and_none_may_read_them() -> None:
    assert not refused(RequestCode.SEND_MESSAGE_V2, b=TRACE_TOPIC)
    assert not refused(RequestCode.SEND_MESSAGE_V2, b="T")
    assert refused(RequestCode.SEND_MESSAGE_V2, b="U")
    assert refused(RequestCode.QUERY_MESSAGE, topic=TRACE_TOPIC)


@pytest.mark.parametrize("length", [0, 6])
@pytest.mark.parametrize("name", ["accessKey", "secretKey"])
def test_keys_have_more_than_six_characters(name: str, length: int) -> None:
    other = {"accessKey": "secretKey", "secretKey": "accessKey"}[name]
    text = "accounts: [{" + f"{name}: '{'x' * length}', {other}: abcdefg" + "}]"
    with pytest.raises(BadAccessConfig, match=rf"{name}: .*allowed: a text of 7 to"):
        read_rules(text.encode())
    assert read_rules(text.replace(f"'{'x' * length}'", "x" * 7).encode()).accounts
