"""Requests and replies between two lab nodes, over real frames."""

from __future__ import annotations

import asyncio
import gc
import struct
from collections.abc import Awaitable

import pytest

from engine.protocol.command.remoting_command import RemotingCommand, decode_command
from engine.protocol.enums import LanguageCode
from engine.protocol.errors import MalformedHeader
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.errors import (
    RemotingConnectFailed,
    RemotingReplyUnreadable,
    RemotingSendFailed,
    RemotingShutDown,
    RemotingTimeout,
)
from engine.remoting.remoting_client import RemotingClient
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.live.live_runtime import LiveRuntime
from engine.runtime.port import Connection

ECHO = 900
NEVER = 901
LATER = 902
WRONG = 903
BROKEN = 904
CALL_BACK = 905
WAITS = 906


class Echo:
    """A server on node "server" and a client on node "client"."""

    def __init__(self) -> None:
        self.world = LabMachines(seed=7)
        server_runtime = self.world.node("server")
        self.server = RemotingServer(server_runtime, "echo")
        self.closed: list[str] = []
        self.server.on_connection_closed(lambda channel: self.closed.append(channel.remote_address))
        self.oneways: list[bytes] = []
        for code, processor in (
            (ECHO, self.echo),
            (NEVER, lambda channel, request: None),
            (LATER, self.later),
            (WRONG, self.wrong),
            (BROKEN, self.broken),
            (CALL_BACK, self.call_back),
            (WAITS, self.waits),
        ):
            self.server.register_processor(code, processor)
        self.world.run(self.server.start("0.0.0.0", 9000), node="server")
        self.client = RemotingClient(self.world.node("client"), "caller")
        self.address = f"{server_runtime.identity.host_ip}:9000"

    def echo(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        if request.is_oneway:
            self.oneways.append(request.body)
        return request.reply(ResponseCode.SUCCESS, "echo", body=request.body)

    def later(self, channel: Channel, request: RemotingCommand) -> Awaitable[RemotingCommand]:
        async def wait() -> RemotingCommand:
            await asyncio.sleep(1)
            return request.reply(ResponseCode.SUCCESS)

        return wait()

    def waits(self, channel: Channel, request: RemotingCommand) -> Awaitable[RemotingCommand]:
        async def wait(reply: RemotingCommand) -> RemotingCommand:
            await asyncio.sleep(1)
            return reply

        return wait(request.reply(ResponseCode.SUCCESS))

    def wrong(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        raise MalformedHeader("queueId", "must be a whole number")

    def broken(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        raise ZeroDivisionError("a bug")

    def call_back(self, channel: Channel, request: RemotingCommand) -> Awaitable[RemotingCommand]:
        async def ask() -> RemotingCommand:
            answer = await channel.call(RemotingCommand.request(ECHO, body=b"to you"), 1000)
            return request.reply(ResponseCode.SUCCESS, body=answer.body)

        return ask()

    def call(self, code: int, body: bytes = b"", timeout_ms: int = 3000) -> RemotingCommand:
        command = RemotingCommand.request(code, body=body)
        return self.world.run(self.client.call(self.address, command, timeout_ms), node="client")


def test_a_call_gets_its_reply() -> None:
    reply = Echo().call(ECHO, b"hello")
    assert (reply.code, reply.remark, reply.body) == (0, "echo", b"hello")


def test_concurrent_calls_get_their_own_replies_over_one_connection() -> None:
    echo = Echo()

    async def call_all() -> list[RemotingCommand]:
        commands = [RemotingCommand.request(ECHO, body=b"%d" % number) for number in range(50)]
        return await asyncio.gather(*(echo.client.call(echo.address, command, 1000) for command in commands))

    replies = echo.world.run(call_all(), node="client")
    assert [reply.body for reply in replies] == [b"%d" % number for number in range(50)]
    assert len(echo.server.channels) == 1


def test_an_unknown_code_is_answered_with_code_3() -> None:
    reply = Echo().call(12345)
    assert (reply.code, reply.remark) == (3, " request type 12345 not supported")


def test_a_processor_that_waits_is_answered_when_it_is_done() -> None:
    echo = Echo()
    started_us = echo.world.loop.now_us
    assert echo.call(LATER).code == 0
    assert echo.world.loop.now_us - started_us >= 1_000_000


def test_a_wrong_request_is_answered_with_what_is_wrong() -> None:
    reply = Echo().call(WRONG)
    assert reply.code == ResponseCode.SYSTEM_ERROR
    assert reply.remark == "header field 'queueId': must be a whole number"


def test_a_failing_processor_is_answered_and_the_server_goes_on() -> None:
    echo = Echo()
    reply = echo.call(BROKEN)
    assert reply.code == ResponseCode.SYSTEM_ERROR
    assert "ZeroDivisionError" in (reply.remark or "")
    assert echo.call(ECHO).code == 0


def test_a_call_times_out_and_the_next_one_uses_a_new_connection() -> None:
    echo = Echo()
    with pytest.raises(RemotingTimeout, match="within 200 ms") as caught:
        echo.call(NEVER, timeout_ms=200)
    assert not caught.value.outcome_known
    assert echo.call(ECHO).code == 0
    assert len(echo.closed) == 1


def test_a_lost_connection_fails_the_calls_that_wait() -> None:
    echo = Echo()
    pending = echo.world.node("client").spawn(
        echo.client.call(echo.address, RemotingCommand.request(NEVER), 10_000), "call"
    )
    echo.world.run_until(lambda: echo.server.channels)
    echo.world.crash("server")
    echo.world.run_until(pending.done)
    error = pending.exception()
    assert isinstance(error, RemotingSendFailed)
    assert not error.outcome_known


def test_nobody_listening_is_a_definite_failure() -> None:
    echo = Echo()
    nowhere = echo.client.call("10.9.9.9:1", RemotingCommand.request(ECHO), 500)
    with pytest.raises(RemotingConnectFailed) as caught:
        echo.world.run(nowhere, node="client")
    assert caught.value.outcome_known


def test_a_oneway_request_is_never_answered() -> None:
    echo = Echo()
    echo.world.run(echo.client.send_oneway(echo.address, RemotingCommand.request(ECHO, body=b"x")), node="client")
    echo.world.run_for(100)
    assert echo.oneways == [b"x"]
    assert echo.server.channels[0].frames_out == 0


def test_the_server_may_call_the_client_on_the_same_connection() -> None:
    echo = Echo()
    echo.client.register_processor(ECHO, lambda channel, request: request.reply(0, body=b"and back: " + request.body))
    assert echo.call(CALL_BACK).body == b"and back: to you"


def test_a_garbage_frame_closes_the_connection_and_no_other() -> None:
    echo = Echo()
    assert echo.call(ECHO).code == 0

    class Garbage:
        lost = ""

        def connection_made(self, connection: object) -> None: ...
        def frame_received(self, frame: bytes) -> None: ...
        def connection_lost(self, reason: str) -> None:
            self.lost = reason or "lost"

    handler = Garbage()

    async def send_garbage() -> None:
        connection = await echo.world.node("client").network.connect(echo.address, handler, 1000)
        connection.send_frame(b"\x00\x00\x00\x06\x00\x00\x00\x02no")

    echo.world.run(send_garbage(), node="client")
    echo.world.run_until(lambda: handler.lost, 1000)
    assert echo.call(ECHO).code == 0


class Peer:
    """Sends frames as they are, and keeps what comes back."""

    def __init__(self) -> None:
        self.frames: list[RemotingCommand] = []
        self.lost = ""

    def connection_made(self, connection: Connection) -> None:
        self.connection = connection

    def frame_received(self, frame: bytes) -> None:
        self.frames.append(decode_command(frame))

    def connection_lost(self, reason: str) -> None:
        self.lost = reason or "lost"


def _framed(header: bytes) -> bytes:
    return struct.pack(">iI", 4 + len(header), len(header)) + header


@pytest.mark.parametrize(
    "bad", [b'{"code":"x","opaque":5}', b'{"code":900,"opaque":5,"version":"x"}', b'{"opaque":5,"code":900 "flag":0}']
)
def test_a_bad_request_is_answered_and_the_good_one_after_it_too(bad: bytes) -> None:
    echo, peer = Echo(), Peer()

    async def send() -> None:
        await echo.world.node("client").network.connect(echo.address, peer, 1000)
        peer.connection.send_frame(
            _framed(bad) + _framed(bad[:-1] + b',"flag":2}') + _framed(b'{"code":900,"opaque":6}')
        )

    echo.world.run(send(), node="client")
    echo.world.run_for(1000)
    assert [(reply.opaque, reply.code) for reply in peer.frames] == [(5, ResponseCode.SYSTEM_ERROR), (6, 0)]
    assert "the header cannot be read" in (peer.frames[0].remark or "")
    assert not peer.lost


def test_a_bad_reply_fails_its_call_and_no_other() -> None:
    world = LabMachines(seed=7)

    class Server(Peer):
        def frame_received(self, frame: bytes) -> None:
            opaque = decode_command(frame).opaque
            version = b'"x"' if opaque == 1 else b"0"
            self.connection.send_frame(_framed(b'{"code":0,"flag":1,"opaque":%d,"version":%s}' % (opaque, version)))

    listening = world.node("server").network.listen("0.0.0.0", 9000, Server, 1 << 20)
    listener = world.run(listening, node="server")
    client = RemotingClient(world.node("client"), "caller")
    address = f"{world.node('server').identity.host_ip}:{listener.address.rpartition(':')[2]}"

    async def call_both() -> list[object]:
        calls = (client.call(address, RemotingCommand.request(ECHO), 1000) for _ in range(2))
        return await asyncio.gather(*calls, return_exceptions=True)

    failed, good = world.run(call_both(), node="client")
    assert isinstance(failed, RemotingReplyUnreadable)
    assert "version" in str(failed)
    assert not failed.outcome_known
    assert isinstance(good, RemotingCommand)


def test_the_server_knows_language_and_version_of_its_peers() -> None:
    echo = Echo()
    echo.call(ECHO)
    (channel,) = echo.server.channels
    assert (channel.peer_language, channel.peer_version) == (LanguageCode.PYTHON, 409)
    assert (channel.frames_in, channel.frames_out) == (1, 1)


def test_a_request_that_waits_for_its_answer_keeps_no_body() -> None:
    echo = Echo()
    body = bytes(1_000_000)

    async def call() -> RemotingCommand:
        return await echo.client.call(echo.address, RemotingCommand.request(WAITS, body=body), 3000)

    task = echo.world.node("client").spawn(call(), "asks")
    echo.world.run_for(100)
    held = [thing for thing in gc.get_objects() if isinstance(thing, RemotingCommand) and thing.code == WAITS]
    assert sum(len(command.body) for command in held) == len(body), "the client's own"
    echo.world.run_for(1_000)
    assert task.result().code == ResponseCode.SUCCESS


def test_shutdown_ends_connections_and_later_calls() -> None:
    echo = Echo()
    echo.call(ECHO)
    echo.world.run(echo.client.shutdown(), node="client")
    echo.world.run_until(lambda: echo.closed, 1000)
    with pytest.raises(RemotingShutDown):
        echo.call(ECHO)


def test_codes_are_registered_once() -> None:
    echo = Echo()
    with pytest.raises(AssertionError, match="has a processor already"):
        echo.server.register_processor(ECHO, echo.echo)


def test_a_failed_connection_whose_callers_are_gone_is_no_complaint():
    """A client that shuts down immediately leaves the attempt of another task unfinished."""
    complaints: list[object] = []

    async def give_up() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
        runtime = LiveRuntime("client", None)
        client = RemotingClient(runtime, "client")
        call = asyncio.create_task(client.call("127.0.0.1:1", RemotingCommand.request(ECHO), 1_000))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0)
        await asyncio.sleep(0)  # and what the last one has called back
        await client.shutdown()
        await runtime.close()
        gc.collect()

    asyncio.run(give_up())
    assert complaints == []
