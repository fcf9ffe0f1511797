"""Connected clients through the eyes of tools, and questions that the broker passes on to them."""

import json

from engine.protocol.body.admin_bodies import GetConsumerStatusBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import loads_json
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.message_id import decode_offset_message_id, encode_offset_message_id
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab
from tests.engine.broker.processors.test_admin_processors import captured_reply

QUEUE = MessageQueue("T", "broker-a", 0)


class Member:
    """A member of the group that answers what the broker passes on."""

    def __init__(self, lab: BrokerLab, name: str, *, answers: bool = True, version: int | None = None) -> None:
        self.client: LabClient = lab.client(name)
        self.asked: list[RemotingCommand] = []
        self._answers = answers
        for code in (
            RequestCode.GET_CONSUMER_RUNNING_INFO,
            RequestCode.CONSUME_MESSAGE_DIRECTLY,
            RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
        ):
            self.client.remoting.register_processor(code, self._answer)
        self.client.heartbeat(client_id=name)
        if version is not None:
            for info in lab.broker.consumer_manager:
                for member in info.channel_info_table.values():
                    member.version = version

    def _answer(self, channel: Channel, request: RemotingCommand) -> RemotingCommand | None:
        self.asked.append(request)
        if not self._answers:
            return None
        if request.code == RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT:
            return request.reply(ResponseCode.SUCCESS, body=GetConsumerStatusBody({QUEUE: 7}, {}).to_json())
        return request.reply(ResponseCode.SUCCESS, "said by the member", body=b'{"answer":1}')


def running_info(client: LabClient, client_id: str) -> RemotingCommand:
    header = GetConsumerRunningInfoRequestHeader("consumers", client_id, False)
    return client.call(RequestCode.GET_CONSUMER_RUNNING_INFO, header)


def test_a_question_is_passed_on_to_the_member_and_its_answer_back():
    with broker_lab() as lab:
        members = [Member(lab, "m1"), Member(lab, "m2")]
        reply = running_info(lab.client(), "m2")
        assert (reply.code, reply.body, reply.remark) == (ResponseCode.SUCCESS, b'{"answer":1}', "said by the member")
        assert members[0].asked == []
        assert members[1].asked[0].ext_fields == {
            "consumerGroup": "consumers",
            "clientId": "m2",
            "jstackEnable": "false",
        }


def test_who_is_not_there_too_old_or_silent_is_named():
    with broker_lab() as lab:
        tool = lab.client("tool")
        assert running_info(tool, "m1").code == ResponseCode.SYSTEM_ERROR
        Member(lab, "m1", version=61)
        old = running_info(tool, "m1")
        assert old.code == ResponseCode.SYSTEM_ERROR
        assert "61" in (old.remark or "")
    with broker_lab() as lab:
        Member(lab, "m1", answers=False)
        silent = running_info(lab.client("tool"), "m1")
        assert silent.code == ResponseCode.CONSUME_MSG_TIMEOUT
        assert "10000 ms" in (silent.remark or "")


def test_a_message_is_consumed_directly_with_its_bytes_and_the_broker_s_name():
    with broker_lab() as lab:
        member = Member(lab, "m1")
        tool = lab.client("tool")
        tool.create_topic("T", 1)
        message_id = tool.send(body=b"look at me").ext_fields["msgId"]
        header = ConsumeMessageDirectlyResultRequestHeader("consumers", "m1", message_id)
        assert tool.call(RequestCode.CONSUME_MESSAGE_DIRECTLY, header).body == b'{"answer":1}'
        [request] = member.asked
        assert request.ext_fields["brokerName"] == "broker-a"
        assert decode_stored_message(request.body).body == b"look at me"
        of_another_broker = encode_offset_message_id("10.0.0.9:10911", decode_offset_message_id(message_id)[1])
        for wrong in ("7F00000100002A9F00000000000FFFFF", of_another_broker, "no id", None):
            header = ConsumeMessageDirectlyResultRequestHeader("consumers", "m1", wrong)
            assert tool.call(RequestCode.CONSUME_MESSAGE_DIRECTLY, header).code == ResponseCode.SYSTEM_ERROR
        assert len(member.asked) == 1


def test_the_status_of_a_group_is_that_of_the_members_who_answer():
    with broker_lab() as lab:
        Member(lab, "m1")
        Member(lab, "m2", answers=False)
        tool = lab.client("tool")

        def status(client_addr: str | None, group: str = "consumers") -> RemotingCommand:
            header = GetConsumerStatusRequestHeader("T", group, client_addr)
            return tool.call(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, header)

        body = loads_json(status("").body)
        assert body.keys() == loads_json(captured_reply(223)["body"].encode()).keys()
        assert body["consumerTable"]["m1"].pairs == [(QUEUE.to_dict(), 7)]
        assert list(body["consumerTable"]) == ["m1"]
        assert loads_json(status("m2").body)["consumerTable"] == {}
        assert status(None, "nobody").code == ResponseCode.SYSTEM_ERROR


def test_all_producers_are_listed_by_group():
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat(producer_groups=("p", "q"))
        data = json.loads(client.call(RequestCode.GET_ALL_PRODUCER_INFO).body)["data"]
        assert sorted(data) == ["p", "q"]
        [info] = data["p"]
        assert info.keys() == {"clientId", "remoteIP", "language", "version", "lastUpdateTimestamp"}
        assert (info["clientId"], info["language"]) == ("client@1", "JAVA")
