"""The permissions that a request needs on topics and groups (RocketMQ: ``PlainAccessValidator.parse``).

A group is listed under the name of its retry topic. A request that is not in the table only needs a valid signature, as
in RocketMQ 4.9.8: locks, queries of offsets, ends of transactions, statistics.

Two differences close holes of 4.9.8: a batch (code 320) needs PUB like any other send, while 4.9.8 requires nothing;
and a message sent to a retry topic needs SUB on *that* group, while 4.9.8 checks the group that the sender names (or no
group, with code 10).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.acl.permission import Permission
from engine.protocol.body.heartbeat_data import HeartbeatData
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.names import is_retry_topic, retry_topic
from engine.protocol.request_code import RequestCode

_Needed = dict[str, Permission]


def needed_permissions(request: RemotingCommand) -> Mapping[str, Permission]:
    """Return topic, or retry topic of a group -> the needed permission. Raises ``ProtocolError`` for a malformed
    heartbeat.
    """
    rule = RULES_OF_REQUESTS.get(request.code)
    return {} if rule is None else rule(request)


def _to_send(field: str) -> Callable[[RemotingCommand], _Needed]:
    def rule(request: RemotingCommand) -> _Needed:
        topic = request.ext_fields.get(field)
        if topic is None:
            return {}
        return {topic: Permission.SUB if is_retry_topic(topic) else Permission.PUB}

    return rule


def _to_subscribe(topic_field: str | None, group_field: str | None) -> Callable[[RemotingCommand], _Needed]:
    def rule(request: RemotingCommand) -> _Needed:
        fields = request.ext_fields
        needed: _Needed = {}
        if topic_field is not None and topic_field in fields:
            needed[fields[topic_field]] = Permission.SUB
        if group_field is not None and group_field in fields:
            needed[retry_topic(fields[group_field])] = Permission.SUB
        return needed

    return rule


def _of_heartbeat(request: RemotingCommand) -> _Needed:
    needed: _Needed = {}
    for consumer in HeartbeatData.from_json(request.body).consumers:
        needed[retry_topic(consumer.group_name)] = Permission.SUB
        for subscription in consumer.subscriptions:
            needed[subscription.topic] = Permission.SUB
    return needed


#: Request code -> the needed permissions.
RULES_OF_REQUESTS: Mapping[int, Callable[[RemotingCommand], _Needed]] = {
    RequestCode.SEND_MESSAGE: _to_send("topic"),
    RequestCode.SEND_MESSAGE_V2: _to_send("b"),
    RequestCode.SEND_BATCH_MESSAGE: _to_send("b"),
    RequestCode.CONSUMER_SEND_MSG_BACK: _to_subscribe(None, "group"),
    RequestCode.PULL_MESSAGE: _to_subscribe("topic", "consumerGroup"),
    RequestCode.QUERY_MESSAGE: _to_subscribe("topic", None),
    RequestCode.HEART_BEAT: _of_heartbeat,
    RequestCode.UNREGISTER_CLIENT: _to_subscribe(None, "consumerGroup"),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: _to_subscribe(None, "consumerGroup"),
    RequestCode.UPDATE_CONSUMER_OFFSET: _to_subscribe("topic", "consumerGroup"),
}
