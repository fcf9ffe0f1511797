"""What a channel waits for: a processor that answers later, and the other end's reply.

These two stand apart from :mod:`engine.remoting.channel`, which can be compiled: the lab shows at which line something
waits, and only interpreted code has one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from engine.protocol.command.remoting_command import RemotingCommand


class WaitingChannel(Protocol):
    """What both need of a :class:`~engine.remoting.channel.Channel`."""

    def answer_to_failure(self, request: RemotingCommand, error: Exception) -> RemotingCommand: ...
    def reply_to(self, request: RemotingCommand, response: RemotingCommand) -> None: ...
    def begin_call(
        self, command: RemotingCommand, timeout_ms: int
    ) -> tuple[asyncio.Future[RemotingCommand], asyncio.TimerHandle]: ...
    def forget_call(self, opaque: int) -> None: ...


async def wait_and_answer(
    channel: WaitingChannel, request: RemotingCommand, result: Awaitable[RemotingCommand | None]
) -> None:
    """Answer ``request`` once its processor is done."""
    try:
        response = await result
    except Exception as error:
        response = channel.answer_to_failure(request, error)
    if response is not None:
        channel.reply_to(request, response)


async def call_and_wait(channel: WaitingChannel, command: RemotingCommand, timeout_ms: int) -> RemotingCommand:
    """See :meth:`~engine.remoting.channel.Channel.call`."""
    reply, timer = channel.begin_call(command, timeout_ms)
    opaque = command.opaque
    try:
        return await reply
    finally:
        timer.cancel()
        channel.forget_call(opaque)
