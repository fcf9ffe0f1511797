"""The broker's half of request-reply: who gets a reply, what a responder gets, what is stored."""

from __future__ import annotations

from typing import Any

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.processors.reply_message_processor import PUSH_TIMEOUT_MS
from engine.protocol.body.heartbeat_data import HeartbeatData
from engine.protocol.command.headers import ReplyMessageRequestHeader, UnregisterClientRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message_properties import decode_properties
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab
from tests.support.lab.foreign_sender import foreign_message

REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC"


class Requester:
    """A producer that takes replies, and answers them as configured."""

    def __init__(self, lab: BrokerLab, code: int | None = ResponseCode.SUCCESS, client_id: str = "req@1") -> None:
        self.client = lab.client(f"requester {client_id}".replace(" ", "-").replace("@", "-"))
        self.client_id = client_id
        self.code = code
        self.pushed: list[RemotingCommand] = []
        self.client.remoting.register_processor(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, self._push)
        self.heartbeat()

    def heartbeat(self) -> None:
        heartbeat = HeartbeatData(self.client_id, ("requesters",), ())
        self.client.call(RequestCode.HEART_BEAT, body=heartbeat.to_json())

    def _push(self, channel: object, request: RemotingCommand) -> RemotingCommand | None:
        self.pushed.append(request)
        return None if self.code is None else request.reply(self.code, "as told")


def send_reply(client: LabClient, *, to: str | None = "req@1", code: int = 325, **properties: str) -> RemotingCommand:
    known: dict[str, str] = {"MSG_TYPE": "reply", "CORRELATION_ID": "c-1", "TTL": "3000", **properties}
    if to is not None:
        known["REPLY_TO_CLIENT"] = to
    request = client.send_request(REPLY_TOPIC, foreign_message(REPLY_TOPIC, b"42", known), group="responders")
    if code == RequestCode.SEND_REPLY_MESSAGE:
        names = "producerGroup topic defaultTopic defaultTopicQueueNums queueId sysFlag bornTimestamp flag properties"
        letters = dict(zip("abcdefghi", names.split(), strict=True))
        request.ext_fields = {
            letters[letter]: value for letter, value in request.ext_fields.items() if letter in letters
        }
    request.code = code
    return client.exchange(request)


def stored_replies(lab: BrokerLab, client: LabClient) -> list[Any]:
    lab.run_for(10)
    return client.messages(REPLY_TOPIC)


@pytest.mark.parametrize("code", [324, 325])
def test_a_reply_is_pushed_to_whoever_waits_for_it_and_stored(code: int):
    with broker_lab() as lab:
        requester, responder = Requester(lab), lab.client("responder")
        reply = send_reply(responder, code=code)
        assert reply.code == ResponseCode.SUCCESS
        assert reply.remark is None
        assert reply.ext_fields["MSG_REGION"] == "DefaultRegion"
        assert reply.ext_fields["queueOffset"] == "0"
        (push,) = requester.pushed
        header = ReplyMessageRequestHeader.decode(push.ext_fields)
        assert push.body == b"42"
        assert (header.topic, header.producer_group, header.store_host) == (
            REPLY_TOPIC,
            "responders",
            lab.broker.address,
        )
        properties = decode_properties(header.properties or "")
        assert properties["CORRELATION_ID"] == "c-1"
        assert int(properties["PUSH_REPLY_TIME"]) == header.store_timestamp
        (stored,) = stored_replies(lab, responder)
        assert stored.body == b"42"
        assert "PUSH_REPLY_TIME" not in stored.properties
        assert reply.ext_fields["msgId"] == stored.offset_message_id


def test_without_store_reply_message_enable_the_responder_gets_a_made_up_place():
    with broker_lab(BrokerConfig(store_reply_message_enable=False)) as lab:
        Requester(lab)
        responder = lab.client("responder")
        reply = send_reply(responder)
        fields = {name: reply.ext_fields[name] for name in ("msgId", "queueId", "queueOffset")}
        assert fields == {"msgId": "0", "queueId": "0", "queueOffset": "0"}
        assert stored_replies(lab, responder) == []


def test_a_responder_learns_that_its_requester_is_gone_and_the_reply_is_stored():
    with broker_lab() as lab:
        responder = lab.client("responder")
        reply = send_reply(responder, to="gone@7")
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert reply.remark == "push reply message fail, channel of <gone@7> not found."
        assert len(stored_replies(lab, responder)) == 1


def test_a_reply_that_names_no_client_is_refused():
    with broker_lab() as lab:
        reply = send_reply(lab.client("responder"), to=None)
        assert (reply.code, reply.remark) == (
            ResponseCode.SYSTEM_ERROR,
            "reply message properties[REPLY_TO_CLIENT] is null",
        )


@pytest.mark.parametrize("answer", [ResponseCode.SYSTEM_ERROR, None])
def test_a_requester_that_does_not_confirm_fails_the_reply(answer: int | None):
    with broker_lab() as lab:
        requester = Requester(lab, answer)
        started_us = lab.world.loop.now_us
        reply = send_reply(lab.client("responder"))
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "push reply message to req@1fail." in (reply.remark or "")
        assert len(requester.pushed) == 1
        waited_ms = (lab.world.loop.now_us - started_us) // 1_000
        assert (waited_ms >= PUSH_TIMEOUT_MS) == (answer is None)


def test_the_checks_of_a_send_come_first():
    with broker_lab() as lab:
        requester = Requester(lab)
        client = lab.client("responder")
        request = client.send_request("SCHEDULE_TOPIC_XXXX", foreign_message("x", b"42", {"REPLY_TO_CLIENT": "req@1"}))
        request.code = RequestCode.SEND_REPLY_MESSAGE_V2
        reply = client.exchange(request)
        assert reply.code == ResponseCode.NO_PERMISSION
        assert reply.ext_fields["TRACE_ON"] == "true"
        assert requester.pushed == []


@pytest.mark.parametrize("code", [324, 325])
def test_replies_are_within_the_rate_limit_of_sends(code: int):
    with broker_lab(BrokerConfig(send_rate_limit=2)) as lab:
        requester, responder = Requester(lab), lab.client("responder")
        replies = [send_reply(responder, code=code) for _ in range(3)]
        assert [reply.code for reply in replies] == [0, 0, ResponseCode.SYSTEM_BUSY]
        assert (replies[2].remark or "").startswith("[RATE_LIMIT]")
        assert "MSG_REGION" in replies[2].ext_fields
        assert len(requester.pushed) == 2, "what was refused is neither pushed nor stored"
        assert len(stored_replies(lab, responder)) == 2
        lab.run_for(1_000)
        assert send_reply(responder, code=code).code == ResponseCode.SUCCESS


def test_a_client_that_has_connected_anew_is_still_found_when_its_old_connection_ends():
    with broker_lab() as lab:
        manager = lab.broker.producer_manager
        first, second = Requester(lab, client_id="req@1"), None
        old = manager.find_channel("req@1")
        assert old is not None
        second = Requester.__new__(Requester)
        second.client, second.client_id = lab.client("second"), "req@1"
        second.heartbeat()
        new = manager.find_channel("req@1")
        assert new is not None
        assert new is not old
        header = UnregisterClientRequestHeader("req@1", producer_group="requesters")
        first.client.call(RequestCode.UNREGISTER_CLIENT, header)
        assert manager.find_channel("req@1") is new
        second.client.call(RequestCode.UNREGISTER_CLIENT, header)
        assert manager.find_channel("req@1") is None


def test_a_client_that_leaves_one_of_its_groups_is_still_found():
    with broker_lab() as lab:
        client = lab.client("both")
        heartbeat = HeartbeatData("req@1", ("requesters", "CLIENT_INNER_PRODUCER"), ())
        client.call(RequestCode.HEART_BEAT, body=heartbeat.to_json())
        client.call(RequestCode.UNREGISTER_CLIENT, UnregisterClientRequestHeader("req@1", "CLIENT_INNER_PRODUCER"))
        assert lab.broker.producer_manager.find_channel("req@1") is not None
        client.call(RequestCode.UNREGISTER_CLIENT, UnregisterClientRequestHeader("req@1", "requesters"))
        assert lab.broker.producer_manager.find_channel("req@1") is None


def test_a_responder_cannot_say_how_long_the_addresses_are():
    with broker_lab() as lab:
        requester, client = Requester(lab), lab.client("responder")
        message = foreign_message(REPLY_TOPIC, b"42", {"REPLY_TO_CLIENT": "req@1"})
        request = client.send_request(REPLY_TOPIC, message)
        request.code = RequestCode.SEND_REPLY_MESSAGE_V2
        request.ext_fields["f"] = str(0x30)  # BORNHOST_V6, STOREHOSTADDRESS_V6
        assert client.exchange(request).code == ResponseCode.SUCCESS
        assert ReplyMessageRequestHeader.decode(requester.pushed[0].ext_fields).sys_flag == 0
        (stored,) = stored_replies(lab, client)
        assert (stored.body, stored.sys_flag) == (b"42", 0)
