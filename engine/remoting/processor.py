"""Who answers which request code (RocketMQ: ``NettyRequestProcessor``, ``RPCHook`` and the processor table)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.response_code import ResponseCode

if TYPE_CHECKING:
    from engine.remoting.channel import Channel

#: A processor is called synchronously with the channel and the request. It returns the reply; or an awaitable of it
#: where it must wait (for a disk, for a replica); or None when there is nothing to reply, or when it will call
#: ``channel.reply`` by itself later (long polling).
Processor = Callable[["Channel", RemotingCommand], "RemotingCommand | Awaitable[RemotingCommand | None] | None"]

#: Looks at a request before its processor does: None to let it through, else the refusal to answer with.
Guard = Callable[["Channel", RemotingCommand], "RemotingCommand | None"]


def answer_not_supported(channel: Channel, request: RemotingCommand) -> RemotingCommand:
    """The default processor: code 3, as RocketMQ answers what it does not know."""
    return request.reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f" request type {request.code} not supported")


class ProcessorTable:
    """Request code -> processor. Shared by all channels of a server or client."""

    def __init__(self) -> None:
        self._processors: dict[int, Processor] = {}
        self._unguarded: dict[int, Processor] = {}
        self._default: Processor = answer_not_supported

    def register(self, code: int, processor: Processor) -> None:
        """Let ``processor`` answer ``code``. A code has one processor: a second registration is a bug."""
        assert code not in self._processors, f"request code {code} has a processor already"
        self._processors[int(code)] = self._unguarded[int(code)] = processor

    def set_default(self, processor: Processor) -> None:
        """Let ``processor`` answer every code that has none of its own."""
        self._default = processor

    def guard(self, guard: Guard) -> None:
        """Have ``guard`` asked before every processor registered so far, and before the default one.

        The processors themselves are wrapped, so that a server without a guard pays nothing for the possibility.
        """
        for code, processor in self._processors.items():
            self._processors[code] = _guarded(guard, processor)
        self._default = _guarded(guard, self._default)

    def find(self, code: int) -> Processor:
        """The processor of ``code``."""
        return self._processors.get(code, self._default)

    def find_unguarded(self, code: int) -> Processor:
        """The processor of ``code``, for whoever runs the broker: no guard asks them who they are."""
        return self._unguarded[code]

    @property
    def codes(self) -> list[int]:
        """The codes that have a processor of their own, ascending."""
        return sorted(self._processors)


def _guarded(guard: Guard, processor: Processor) -> Processor:
    def ask_first(
        channel: Channel, request: RemotingCommand
    ) -> RemotingCommand | Awaitable[RemotingCommand | None] | None:
        refusal = guard(channel, request)
        return processor(channel, request) if refusal is None else refusal

    return ask_first
