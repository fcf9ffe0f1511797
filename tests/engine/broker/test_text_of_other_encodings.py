"""Clients whose text is not UTF-8 are served as Java serves them, and a bad request costs nobody the connection."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.protocol.command.headers import GetRouteInfoRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand, SerializeType, decode_command, encode_command
from engine.protocol.message.batch_codec import encode_batched_message
from engine.protocol.message.message import Message
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.port import Connection
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab

GBK = "重量".encode("gbk")
REPLACED = "\ufffd" * len(GBK)
#: Takes the place of GBK while a request is text; as many bytes, so that all lengths are right.
PLACE = "@gbk"
BOTH_KINDS = pytest.mark.parametrize("kind", list(SerializeType))


class RawClient:
    """Sends frames as they are, all on one connection, and keeps the replies by their opaque."""

    def __init__(self, lab: BrokerLab, address: str) -> None:
        self._lab = lab
        self.replies: dict[int, RemotingCommand] = {}
        self.lost = ""
        node = lab.world.node("raw")
        lab.world.run(node.network.connect(address, self, 1000), node="raw")

    def connection_made(self, connection: Connection) -> None:
        self._connection = connection

    def frame_received(self, frame: bytes) -> None:
        reply = decode_command(frame)
        self.replies[reply.opaque] = reply

    def connection_lost(self, reason: str) -> None:
        self.lost = reason or "lost"

    def send(self, request: RemotingCommand, opaque: int, kind: SerializeType = SerializeType.JSON) -> None:
        request.opaque, request.serialize_type = opaque, kind
        self.send_frame(encode_command(request).replace(PLACE.encode(), GBK))

    def send_frame(self, frame: bytes) -> None:
        self._connection.send_frame(frame)
        self._lab.run_for(100)


@pytest.fixture
def lab() -> Iterator[BrokerLab]:
    with broker_lab() as made:
        made.client().create_topic("T")
        yield made


@BOTH_KINDS
def test_a_property_of_another_encoding_is_stored_as_java_stores_it(lab: BrokerLab, kind: SerializeType) -> None:
    client, raw = lab.client(), RawClient(lab, lab.broker.address)
    for opaque, text in ((1, PLACE), (2, "good")):
        message = Message("T", PLACE.encode(), tags=text, keys=text, properties={"weight": text, PLACE: "1"})
        raw.send(client.send_request("T", message), opaque, kind)
    assert [raw.replies[opaque].code for opaque in (1, 2)] == [ResponseCode.SUCCESS] * 2
    first, second = client.messages()
    assert (first.body, first.tags, first.properties["weight"], first.properties[REPLACED]) == (
        GBK,
        REPLACED,
        REPLACED,
        "1",
    )
    assert second.tags == "good"
    assert not raw.lost
    result = lab.broker.store.query_message("T", REPLACED, 10, 0, 2**62)
    assert [message.queue_offset for buffer in result.buffers for message in decode_messages(buffer)] == [0]


def test_members_of_a_batch_keep_the_bytes_of_their_properties(lab: BrokerLab) -> None:
    client = lab.client()
    properties = [b"TAGS\x01" + GBK + b"\x02UNIQ_KEY\x01A" + GBK, b"TAGS\x01b\x02KEYS\x01" + GBK, b"weight\x01\xff"]
    body = b"".join(encode_batched_message(0, b"body", each) for each in properties)
    request = client.send_request("T", Message("T", body), batch=True)
    request.code = RequestCode.SEND_BATCH_MESSAGE
    assert client.exchange(request).code == ResponseCode.SUCCESS
    reply = client.pull()
    messages = decode_messages(reply.body)
    assert [message.queue_offset for message in messages] == [0, 1, 2]
    assert all(each in reply.body for each in properties)
    assert (messages[0].tags, messages[0].unique_id) == (REPLACED, "A" + REPLACED)
    assert [message.tags for message in client.messages(subscription=REPLACED)] == [REPLACED]
    lab.restart_broker()
    assert client.pull().body == reply.body
    assert len(lab.broker.store.commit_log.damaged_records) == 0


@pytest.mark.parametrize(
    "header",
    [
        b'{"code":"x","opaque":1}',
        b'{"code":310,"opaque":1,"extFields":[]}',
        b'{"code":310,"opaque":1,"flag":"x"}',
        b'{"code":310,"opaque":1,"extFields":{"a":"\\q"}}',
        b'{"code":310,"opaque":1 "extFields":{}}',
        b'{"opaque":1}',
    ],
)
def test_a_bad_request_is_answered_by_every_server_and_the_next_one_too(lab: BrokerLab, header: bytes) -> None:
    assert lab.name_server is not None
    route = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader("T"))
    send = LabClient(lab, "maker").send_request("T", Message("T", b"good"))
    for address, good in ((lab.broker.address, send), (lab.name_server.address, route)):
        raw = RawClient(lab, address)
        raw.send_frame((4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header)
        raw.send(good, 2)
        assert (raw.replies.get(1, raw.replies.get(0)).code, raw.replies[2].code) == (ResponseCode.SYSTEM_ERROR, 0)
        assert not raw.lost


@pytest.mark.parametrize("text", [b"a\x01\tb", b"\x00"])
def test_raw_control_characters_in_a_json_header_are_text(lab: BrokerLab, text: bytes) -> None:
    raw = RawClient(lab, lab.broker.address)
    request = LabClient(lab, "maker").send_request("T", Message("T", b"body", properties={"p": "@1"}))
    request.opaque = 1
    frame = encode_command(request)[8:-4].replace(b"\\u0001", b"\x01").replace(b"@1", text)
    frame = b"\xef\xbb\xbf" + frame[:-1] + b",}"
    raw.send_frame((8 + len(frame)).to_bytes(4, "big") + len(frame).to_bytes(4, "big") + frame + b"body")
    assert raw.replies[1].code == ResponseCode.SUCCESS
    assert lab.client().messages()[0].properties["p"] == text.decode()
