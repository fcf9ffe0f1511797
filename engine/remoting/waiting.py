"""The waits of a channel: for a processor that answers later, and for the other end's reply.

They are separate from :mod:`engine.remoting.channel`, which can be compiled: the lab shows the line at which a task
waits, and only interpreted code has lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from engine.protocol.command.remoting_command import RemotingCommand


class WaitingChannel(Protocol):
    """The interface of a :class:`~engine.remoting.channel.Channel` for both."""

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
    """Send a request and wait for its reply, as :meth:`~engine.remoting.channel.Channel.call` does."""
    reply, timer = channel.begin_call(command, timeout_ms)
    opaque = command.opaque
    try:
        return await reply
    finally:
        timer.cancel()
        channel.forget_call(opaque)
