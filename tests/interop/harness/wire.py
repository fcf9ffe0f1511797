"""A few admin requests, written straight onto a socket.

It shares no code with the engine on purpose: what the tests ask a broker must not depend on the code under test.
Frame: int32 length, int32 (serialize type << 24 | header length), JSON header, body; all big-endian.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any

from tests.support.waiting import wait_until

SEND_MESSAGE = 10
PULL_MESSAGE = 11
GET_MAX_OFFSET = 30
END_TRANSACTION = 37
QUERY_CONSUMER_OFFSET = 14
UPDATE_AND_CREATE_TOPIC = 17
GET_CONSUMER_LIST_BY_GROUP = 38
GET_CONSUME_STATS = 208
GET_ROUTEINFO_BY_TOPIC = 105
GET_CONSUMER_RUNNING_INFO = 307
_READ_AND_WRITE = 6
_PULL_WITH_SUBSCRIPTION = 1 << 2
_COMPRESSED = 1
_COMMIT = 8


class RequestRefused(Exception):
    """The server answered with another code than 0."""

    def __init__(self, request_code: int, code: int, remark: str | None) -> None:
        super().__init__(f"request {request_code} was answered with code {code}: {remark}")
        self.code = code
        self.remark = remark or ""


def signed(fields: dict[str, str], body: bytes, access_key: str, secret_key: str) -> dict[str, str]:
    """``fields`` with an account and its signature, for a broker with rules."""
    fields = {**fields, "AccessKey": access_key}
    content = "".join(value for _, value in sorted(fields.items())).encode() + body
    return {**fields, "Signature": base64.b64encode(hmac.digest(secret_key.encode(), content, "sha1")).decode()}


def request(
    address: str, code: int, fields: dict[str, str], body: bytes = b"", timeout_s: float = 5.0
) -> tuple[dict[str, Any], bytes]:
    """Send one request on a connection of its own; return (header, body) of its answer.

    Raises :class:`RequestRefused` for any code but 0 and ``OSError`` where nobody answers.
    """
    header = json.dumps(
        {"code": code, "language": "OTHER", "version": 409, "opaque": 1, "flag": 0, "extFields": fields}
    ).encode()
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=timeout_s) as connection:
        connection.sendall(struct.pack(">ii", 4 + len(header) + len(body), len(header)) + header + body)
        length, header_word = struct.unpack(">ii", _read(connection, 8))
        payload = _read(connection, length - 4)
    header_length = header_word & 0xFFFFFF
    answer = json.loads(payload[:header_length])
    if answer["code"] != 0:
        raise RequestRefused(code, answer["code"], answer.get("remark"))
    return answer, payload[header_length:]


def create_topic(name_server: str, broker: str, topic: str, queues: int) -> None:
    """Create ``topic`` on the broker and wait until the name server hands out its route."""
    fields = {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": str(queues),
        "writeQueueNums": str(queues),
        "perm": str(_READ_AND_WRITE),
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    request(broker, UPDATE_AND_CREATE_TOPIC, fields)
    wait_until(lambda: write_queues(name_server, topic) == queues, f"the route of {topic} with {queues} queues")


def send_message(broker: str, topic: str, body: bytes) -> str:
    """Send one message to queue 0, creating ``topic`` where the broker does so; return the offset message id."""
    fields = {
        "producerGroup": "wire",
        "topic": topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "0",
        "sysFlag": "0",
        "bornTimestamp": str(int(time.time() * 1000)),
        "flag": "0",
        "properties": "",
        "reconsumeTimes": "0",
        "unitMode": "false",
        "batch": "false",
    }
    header, _ = request(broker, SEND_MESSAGE, fields, body)
    return str(header["extFields"]["msgId"])


def commit_transaction(broker: str, group: str, half_offset: int, log_offset: int) -> None:
    """Commit the half message at these places, as its sender does with END_TRANSACTION; but wait for the answer."""
    fields = {
        "producerGroup": group,
        "tranStateTableOffset": str(half_offset),
        "commitLogOffset": str(log_offset),
        "commitOrRollback": str(_COMMIT),
        "fromTransactionCheck": "false",
        "msgId": "wire",
        "transactionId": "wire",
    }
    request(broker, END_TRANSACTION, fields)


def write_queues(name_server: str, topic: str) -> int:
    """Return the number of write queues in the topic's route; 0 without a route."""
    try:
        fields = {"topic": topic, "acceptStandardJsonOnly": "true"}
        _, body = request(name_server, GET_ROUTEINFO_BY_TOPIC, fields)
    except RequestRefused:
        return 0
    return sum(int(queue["writeQueueNums"]) for queue in json.loads(body)["queueDatas"])


def max_offset(broker: str, topic: str, queue_id: int) -> int:
    """The offset that the queue's next message will get."""
    header, _ = request(broker, GET_MAX_OFFSET, {"topic": topic, "queueId": str(queue_id)})
    return int(header["extFields"]["offset"])


def max_offsets(broker: str, topic: str, queues: int) -> list[int]:
    return [max_offset(broker, topic, queue_id) for queue_id in range(queues)]


def committed_offset(broker: str, group: str, topic: str, queue_id: int) -> int | None:
    """What ``group`` committed for the queue, or None where nothing is stored (code 22)."""
    fields = {"consumerGroup": group, "topic": topic, "queueId": str(queue_id)}
    try:
        header, _ = request(broker, QUERY_CONSUMER_OFFSET, fields)
    except RequestRefused as refused:
        if refused.code == 22:
            return None
        raise
    return int(header["extFields"]["offset"])


def wait_until_all_is_committed(broker: str, group: str, topic: str, queues: int) -> None:
    def committed() -> list[int | None]:
        return [committed_offset(broker, group, topic, queue_id) for queue_id in range(queues)]

    wait_until(lambda: committed() == max_offsets(broker, topic, queues), "the group to have committed everything")


def queues_of_members(broker: str, group: str, topic: str) -> list[list[int]]:
    """Return the queues of ``topic`` that each member of ``group`` consumes, as the members themselves report."""
    _, listed = request(broker, GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    # A regular expression, as fastjson's maps have objects for keys, which is not JSON.
    queue = re.compile(rb'"queueId":(\d+),"topic":"%s"' % topic.encode())
    queues = []
    for client_id in json.loads(listed)["consumerIdList"]:
        fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}
        _, reported = request(broker, GET_CONSUMER_RUNNING_INFO, fields)
        queues.append(sorted({int(number) for number in queue.findall(reported)}))
    return queues


@dataclass(frozen=True)
class StoredMessage:
    """The first fields of a message as a broker stores it and hands it out."""

    size_bytes: int
    is_compressed: bool


def stored_message(broker: str, topic: str, queue_id: int, offset: int) -> StoredMessage:
    """The message at ``offset``, pulled by a group of our own without waiting."""
    fields = {
        "consumerGroup": "wire",
        "topic": topic,
        "queueId": str(queue_id),
        "queueOffset": str(offset),
        "maxMsgNums": "1",
        "sysFlag": str(_PULL_WITH_SUBSCRIPTION),
        "commitOffset": "0",
        "suspendTimeoutMillis": "0",
        "subscription": "*",
        "subVersion": "0",
        "expressionType": "TAG",
    }
    _, body = request(broker, PULL_MESSAGE, fields)
    size, _magic, _body_crc, _queue_id, _flag, _queue_offset, _physical_offset, system_flag = struct.unpack_from(
        ">iiiiiqqi", body
    )
    return StoredMessage(size, bool(system_flag & _COMPRESSED))


def _read(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError(f"the server closed the connection after {len(parts)} of {size} bytes")
        parts += part
    return bytes(parts)
