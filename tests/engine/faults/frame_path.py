"""A fault injector, a node that keeps what reaches it, and connections of clients that keep what reaches them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from engine.faults.fault_injector import FaultInjector
from engine.faults.fault_rule import FaultAction, FaultRule
from engine.faults.frame_interceptor import FrameInterceptor
from engine.protocol.command.remoting_command import RemotingCommand, decode_command, encode_command
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.lab.lab_runtime import LabMachines
from tests.support.lab.runtime_handlers import CollectingHandler

_T = TypeVar("_T")
NODE = "broker"


@dataclass(eq=False)
class FakeConnection:
    """The port's ``Connection``; what was sent is in ``frames``."""

    remote_address: str
    local_address: str = "10.0.0.1:10911"
    is_closing: bool = False
    unsent_bytes: int = 0
    has_room: bool = True
    frames: list[bytes] = field(default_factory=list)

    def send_frame(self, frame: bytes) -> None:
        assert not self.is_closing
        self.frames.append(frame)

    def close(self) -> None:
        self.is_closing = True


class Wire:
    """One connection through the fault injector."""

    def __init__(self, frame_path: FramePath, address: str) -> None:
        self.handler = CollectingHandler()
        self.connection = FakeConnection(address)
        self.interceptor = FrameInterceptor(frame_path.injector, self.handler)
        self._frame_path = frame_path
        frame_path.do(lambda: self.interceptor.connection_made(self.connection))

    def ask(
        self, code: int, fields: Mapping[str, str] | None = None, body: bytes = b"", *, oneway: bool = False
    ) -> RemotingCommand:
        """A request of the client."""
        request = RemotingCommand.request(code, body=body, oneway=oneway)
        request.ext_fields |= fields or {}
        request.opaque = self._frame_path.next_opaque()
        self.receive(request)
        return request

    def receive(self, command: RemotingCommand) -> None:
        """A frame of the client comes to the interceptor."""
        self._frame_path.do(lambda: self.interceptor.frame_received(encode_command(command)[4:]))

    def answer(self, request: RemotingCommand, code: int = ResponseCode.SUCCESS) -> None:
        """The node answers a request that reached it."""
        self.send(request.reply(code))

    def send(self, command: RemotingCommand) -> None:
        """The node sends."""
        self._frame_path.do(lambda: self.handler.connection.send_frame(encode_command(command)))

    def lose(self) -> None:
        """The connection ends."""
        self._frame_path.do(lambda: self.interceptor.connection_lost("the test ends it"))

    @property
    def reached_node(self) -> list[RemotingCommand]:
        return [decode_command(frame) for frame in self.handler.frames]

    @property
    def reached_client(self) -> list[RemotingCommand]:
        return [decode_command(frame[4:]) for frame in self.connection.frames]


class FramePath:
    """A fault injector with a node and clients, for tests."""

    def __init__(self, world: LabMachines) -> None:
        self.world = world
        self.runtime = world.node(NODE)
        self.client_ids: dict[str, str] = {}
        self.injector = FaultInjector(self.runtime.clock, lambda address: self.client_ids.get(address, ""))
        self._opaque = 0

    def do(self, act: Callable[[], _T]) -> _T:
        """Act as the node, in its loop."""

        async def acting() -> _T:
            return act()

        return self.world.run(acting(), node=NODE)

    def add(self, what: FaultAction, frame: str = "", **options: Any) -> FaultRule:
        """A rule."""
        return self.do(lambda: self.injector.add(FaultRule(what, frame, **options)))

    def wire(self, address: str = "10.0.0.9:40000") -> Wire:
        """A new connection."""
        return Wire(self, address)

    def next_opaque(self) -> int:
        self._opaque += 1
        return self._opaque

    def pull(self, wire: Wire, **fields: str) -> RemotingCommand:
        """The client pulls."""
        return wire.ask(RequestCode.PULL_MESSAGE, {"topic": "T", "consumerGroup": "g", **fields})


@contextmanager
def frame_paths() -> Iterator[FramePath]:
    """One, freed at the end."""
    with LabMachines(seed=1) as world:
        yield FramePath(world)
