"""Who answers which request code (RocketMQ: ``NettyRequestProcessor``, ``RPCHook`` and the processor table)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from engine.protocol.body.json_body import JsonBody
from engine.protocol.command.command_header import CommandHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel, Processor

#: Looks at a request before its processor does: None to let it through, else the refusal to answer with.
Guard = Callable[[Channel, RemotingCommand], RemotingCommand | None]
#: Looks at a request's reply before it is sent: the reply to send, or one that comes later.
Settle = Callable[[RemotingCommand, RemotingCommand], RemotingCommand | Awaitable[RemotingCommand]]


#: What a method with :func:`answers` returns: a whole reply, or what SUCCESS carries.
Result = RemotingCommand | CommandHeader | JsonBody | bytes | None

_Method = TypeVar("_Method", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class _Mark:
    """Of a method: the codes, and what it takes (None: it is a :data:`Processor` as it stands)."""

    codes: tuple[int, ...]
    takes: tuple[type, ...] | None


#: The marks of methods; a compiled method has no attributes that could hold them.
_MARKS: dict[Callable[..., Any], _Mark] = {}


def answers(code: int, *takes: type) -> Callable[[_Method], _Method]:
    """Let the method answer ``code``. It is called with what it says it takes, in that order.

    A header class stands for the decoded header, a body class for the body read by its ``from_json``, ``Channel`` and
    ``RemotingCommand`` for themselves. The method may be a coroutine function. It returns a :data:`Result` (None:
    SUCCESS says it all), or raises :class:`~engine.remoting.errors.RequestRefused`.
    """
    return lambda method: _marked(method, _Mark((code,), takes))


def processes(*codes: int) -> Callable[[_Method], _Method]:
    """Let the method, a :data:`Processor`, answer ``codes``: where the reply may come later, and where time counts."""
    return lambda method: _marked(method, _Mark(codes, None))


def _marked(method: _Method, mark: _Mark) -> _Method:
    _MARKS[method] = mark
    return method


@functools.cache
def _marked_methods(bases: tuple[type, ...]) -> list[tuple[str, _Mark, bool]]:
    """Name and mark of the methods that a class has from ``bases``, itself the first, and whether each is a coroutine
    function.

    Kept: a lab makes the same servers thousands of times.
    """
    marks: dict[str, _Mark] = {}
    for base in reversed(bases):
        methods = {name: member for name, member in vars(base).items() if callable(member)}
        marks |= {name: _MARKS[method] for name, method in methods.items() if method in _MARKS}
    return [(name, mark, inspect.iscoroutinefunction(getattr(bases[0], name))) for name, mark in marks.items()]


@functools.cache
def _readers_of(takes: tuple[type, ...]) -> list[Callable[[Channel, RemotingCommand], object]]:
    return [_reader(kind) for kind in takes]


def _processor_of(method: Callable[..., Any], takes: tuple[type, ...], *, may_wait: bool) -> Processor:
    readers = _readers_of(takes)
    # What wraps the method leads to it, but does without its name and text: copying them took a twentieth of a search.
    if may_wait:

        async def process_later(channel: Channel, request: RemotingCommand) -> RemotingCommand:
            return _reply(request, await method(*[read(channel, request) for read in readers]))

        return functools.update_wrapper(process_later, method, (), ())

    def process(channel: Channel, request: RemotingCommand) -> RemotingCommand:
        return _reply(request, method(*[read(channel, request) for read in readers]))

    return functools.update_wrapper(process, method, (), ())


def _reader(kind: Any) -> Callable[[Channel, RemotingCommand], object]:
    if kind is Channel:
        return lambda channel, request: channel
    if kind is RemotingCommand:
        return lambda channel, request: request
    if issubclass(kind, CommandHeader):
        return lambda channel, request: kind.decode(request.ext_fields)
    return lambda channel, request: kind.from_json(request.body)


def _reply(request: RemotingCommand, result: Result) -> RemotingCommand:
    if isinstance(result, RemotingCommand):
        return result
    if result is None or isinstance(result, CommandHeader):
        return request.reply(ResponseCode.SUCCESS, header=result)
    return request.reply(ResponseCode.SUCCESS, body=result if isinstance(result, bytes) else result.to_json())


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

    def register_methods(self, *owners: object) -> None:
        """Register every method of ``owners`` that :func:`answers` or :func:`processes` requests, or that overrides
        one that does.
        """
        for owner in owners:
            for name, mark, may_wait in _marked_methods(type(owner).__mro__):
                method = getattr(owner, name)
                processor = method if mark.takes is None else _processor_of(method, mark.takes, may_wait=may_wait)
                for code in mark.codes:
                    self.register(code, processor)

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

    def settle(self, settle: Settle) -> None:
        """Have ``settle`` look at every reply of the processors registered so far."""
        for code, processor in self._processors.items():
            self._processors[code] = self._unguarded[code] = _settled(settle, processor)

    def find(self, code: int) -> Processor:
        """The processor of ``code``."""
        return self._processors.get(code, self._default)

    def find_unguarded(self, code: int) -> Processor:
        """The processor of ``code``, for whoever runs the server: no guard asks them who they are."""
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


def _settled(settle: Settle, processor: Processor) -> Processor:
    async def settle_later(
        request: RemotingCommand, answer: Awaitable[RemotingCommand | None]
    ) -> RemotingCommand | None:
        reply = await answer
        settled = None if reply is None else settle(request, reply)
        return settled if settled is None or isinstance(settled, RemotingCommand) else await settled

    def settle_reply(
        channel: Channel, request: RemotingCommand
    ) -> RemotingCommand | Awaitable[RemotingCommand | None] | None:
        answer = processor(channel, request)
        if answer is None:
            return None
        return settle(request, answer) if isinstance(answer, RemotingCommand) else settle_later(request, answer)

    return settle_reply
