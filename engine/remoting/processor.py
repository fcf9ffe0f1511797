"""The table of request processors by request code (RocketMQ: ``NettyRequestProcessor``, ``RPCHook`` and the processor
table).
"""

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

#: Checks a request before its processor: returns None to let it pass, else the refusal to answer with.
Guard = Callable[[Channel, RemotingCommand], RemotingCommand | None]
#: Processes a request's reply before it is sent: returns the reply to send, or one that comes later.
Settle = Callable[[RemotingCommand, RemotingCommand], RemotingCommand | Awaitable[RemotingCommand]]


#: The result of a method with :func:`answers`: a whole reply, or the content of a SUCCESS reply.
Result = RemotingCommand | CommandHeader | JsonBody | bytes | None

_Method = TypeVar("_Method", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class _Mark:
    """The mark of a method: its codes, and its parameters (None: the method itself is a :data:`Processor`)."""

    codes: tuple[int, ...]
    takes: tuple[type, ...] | None


#: The marks of methods; a compiled method has no attributes that could contain them.
_MARKS: dict[Callable[..., Any], _Mark] = {}


def answers(code: int, *takes: type) -> Callable[[_Method], _Method]:
    """Register the method for ``code``. It is called with the arguments of the types ``takes``, in that order.

    A header class means the decoded header, a body class the body read by its ``from_json``; ``Channel`` and
    ``RemotingCommand`` mean themselves. The method may be a coroutine function. It returns a :data:`Result` (None:
    SUCCESS without content), or raises :class:`~engine.remoting.errors.RequestRefused`.
    """
    return lambda method: _marked(method, _Mark((code,), takes))


def processes(*codes: int) -> Callable[[_Method], _Method]:
    """Register the method, a :data:`Processor`, for ``codes``: for replies that may come later, and for hot paths."""
    return lambda method: _marked(method, _Mark(codes, None))


def _marked(method: _Method, mark: _Mark) -> _Method:
    _MARKS[method] = mark
    return method


@functools.cache
def _marked_methods(bases: tuple[type, ...]) -> list[tuple[str, _Mark, bool]]:
    """Return name and mark of the methods that a class has from ``bases``, and whether each is a coroutine function.

    The class itself is the first of ``bases``. Cached, because a lab creates the same servers thousands of times.
    """
    marks: dict[str, _Mark] = {}
    for base in reversed(bases):
        methods = {name: member for name, member in vars(base).items() if callable(member)}
        marks |= {name: _MARKS[method] for name, method in methods.items() if method in _MARKS}
    return [(name, mark, inspect.iscoroutinefunction(getattr(bases[0], name))) for name, mark in marks.items()]


def codes_of(*processors: type) -> frozenset[int]:
    """Return the codes of the requests that servers with these classes of processors answer."""
    return frozenset(code for one in processors for _, mark, _ in _marked_methods(one.__mro__) for code in mark.codes)


@functools.cache
def _readers_of(takes: tuple[type, ...]) -> list[Callable[[Channel, RemotingCommand], object]]:
    return [_reader(kind) for kind in takes]


def _processor_of(method: Callable[..., Any], takes: tuple[type, ...], *, may_wait: bool) -> Processor:
    readers = _readers_of(takes)
    # The wrapper refers to the method but does not copy its name and docstring: copying them took a twentieth of a
    # search.
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
    """Answer code 3 as the default processor, like RocketMQ for unknown codes."""
    return request.reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f" request type {request.code} not supported")


class ProcessorTable:
    """A table: request code -> processor. It is shared by all channels of a server or client."""

    def __init__(self) -> None:
        self._processors: dict[int, Processor] = {}
        self._unguarded: dict[int, Processor] = {}
        self._default: Processor = answer_not_supported

    def register(self, code: int, processor: Processor) -> None:
        """Register ``processor`` for ``code``. A code has one processor: a second registration is a bug."""
        assert code not in self._processors, f"request code {code} has a processor already"
        self._processors[int(code)] = self._unguarded[int(code)] = processor

    def register_methods(self, *owners: object) -> None:
        """Register every method of ``owners`` marked by :func:`answers` or :func:`processes`, or overriding a marked
        one.
        """
        for owner in owners:
            for name, mark, may_wait in _marked_methods(type(owner).__mro__):
                method = getattr(owner, name)
                processor = method if mark.takes is None else _processor_of(method, mark.takes, may_wait=may_wait)
                for code in mark.codes:
                    self.register(code, processor)

    def set_default(self, processor: Processor) -> None:
        """Register ``processor`` for every code without its own."""
        self._default = processor

    def guard(self, guard: Guard) -> None:
        """Have ``guard`` called before every processor registered so far, and before the default one.

        The processors themselves are wrapped, so that a server without a guard has no overhead.
        """
        for code, processor in self._processors.items():
            self._processors[code] = _guarded(guard, processor)
        self._default = _guarded(guard, self._default)

    def settle(self, settle: Settle) -> None:
        """Have ``settle`` process every reply of the processors registered so far."""
        for code, processor in self._processors.items():
            self._processors[code] = self._unguarded[code] = _settled(settle, processor)

    def find(self, code: int) -> Processor:
        """Return the processor of ``code``."""
        return self._processors.get(code, self._default)

    def find_unguarded(self, code: int) -> Processor:
        """Return the processor of ``code`` without its guard, for the server's own process."""
        return self._unguarded[code]

    @property
    def codes(self) -> list[int]:
        """Return the codes that have their own processor, ascending."""
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
