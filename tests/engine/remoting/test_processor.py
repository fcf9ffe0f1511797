"""What a method that answers requests is given, and what becomes of what it returns or raises."""

from __future__ import annotations

import asyncio

import pytest

from engine.protocol.body.bodies import GetConsumerListByGroupResponseBody
from engine.protocol.command.headers import OffsetResponseHeader, QueueRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import IllegalName
from engine.protocol.response_code import STORED_CODES, ResponseCode, outcome_is_known
from engine.remoting.channel import Channel
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.lab.lab_runtime import LabMachines


class Answering:
    """One method for each form."""

    @answers(1, QueueRequestHeader)
    def header_for_header(self, header: QueueRequestHeader) -> OffsetResponseHeader:
        return OffsetResponseHeader(header.queue_id + 1)

    @answers(2, GetConsumerListByGroupResponseBody)
    async def body_for_body(self, body: GetConsumerListByGroupResponseBody) -> GetConsumerListByGroupResponseBody:
        await asyncio.sleep(0)
        return GetConsumerListByGroupResponseBody(tuple(reversed(body.consumer_id_list)))

    @answers(3)
    def nothing_for_nothing(self) -> None:
        return

    @answers(4, Channel, RemotingCommand)
    def bytes_for_both(self, channel: Channel, request: RemotingCommand) -> bytes:
        return channel.remote_address.encode() + request.body

    @answers(5)
    def refused(self) -> None:
        raise RequestRefused("not today", ResponseCode.NO_PERMISSION)

    @answers(6)
    async def refused_later(self) -> None:
        raise RequestRefused("not today")

    @answers(7)
    def illegal(self) -> None:
        raise IllegalName("no name")


def asked(request: RemotingCommand) -> RemotingCommand:
    with LabMachines(seed=1) as world:
        server = RemotingServer(world.node("server"), "server")
        server.processors.register_methods(Answering())
        return world.run(server.ask_unguarded(request, "here:1"), node="server")


def test_a_header_is_decoded_and_the_header_that_is_returned_is_the_answer():
    reply = asked(RemotingCommand.request(1, QueueRequestHeader("T", 3)))
    assert (reply.code, reply.ext_fields, reply.body) == (ResponseCode.SUCCESS, {"offset": "4"}, b"")


def test_a_wrong_header_is_refused_with_the_reason():
    reply = asked(RemotingCommand.request(1))
    assert reply.code == ResponseCode.SYSTEM_ERROR and "topic" in (reply.remark or "")


def test_a_body_is_read_and_a_coroutine_is_waited_for():
    body = GetConsumerListByGroupResponseBody(("a", "b"))
    reply = asked(RemotingCommand.request(2, body=body.to_json()))
    assert GetConsumerListByGroupResponseBody.from_json(reply.body).consumer_id_list == ("b", "a")


def test_success_needs_no_words():
    reply = asked(RemotingCommand.request(3))
    assert (reply.code, reply.remark, reply.ext_fields, reply.body) == (ResponseCode.SUCCESS, None, {}, b"")


def test_channel_and_request_are_given_to_those_that_ask_for_them():
    assert asked(RemotingCommand.request(4, body=b"!")).body == b"here:1!"


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (5, (ResponseCode.NO_PERMISSION, "not today")),
        (6, (ResponseCode.SYSTEM_ERROR, "not today")),
        (7, (ResponseCode.SYSTEM_ERROR, "no name")),
    ],
)
def test_a_refusal_is_answered_with_its_code_and_remark(code: int, answer: tuple[int, str]):
    reply = asked(RemotingCommand.request(code))
    assert (reply.code, reply.remark) == answer


def test_of_the_codes_that_mean_stored_only_success_says_for_certain_that_it_stays():
    assert [code for code in sorted(STORED_CODES) if outcome_is_known(code)] == [ResponseCode.SUCCESS]


def test_what_a_class_inherits_is_answered_too_by_what_overrides_it():
    class Derived(Answering):
        def nothing_for_nothing(self) -> None:
            raise RequestRefused("overridden")

    with LabMachines(seed=1) as world:
        server = RemotingServer(world.node("server"), "server")
        server.processors.register_methods(Derived())
        replies = [
            world.run(server.ask_unguarded(request, "here:1"), node="server")
            for request in (RemotingCommand.request(1, QueueRequestHeader("T", 3)), RemotingCommand.request(3))
        ]
    assert [reply.remark for reply in replies] == [None, "overridden"]
