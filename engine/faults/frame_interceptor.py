"""The interceptor between a connection and its handler, at a node with fault injection.

While no rule concerns a direction its frames bypass the interceptor: ``frame_received`` and ``send_frame`` then *are*
the methods of the other side. So unused fault injection has no cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from engine.faults.fault_rule import Direction
from engine.faults.frame_subject import FrameSubject

if TYPE_CHECKING:
    from engine.protocol.command.remoting_command import RemotingCommand
    from engine.runtime.port import Connection, FrameHandler

#: The maximum number of remembered requests without a reply, by connection and direction; the oldest are forgotten
#: first.
REQUESTS_REMEMBERED = 4_096
REMEMBERED_BYTES_MAX = 4 * 1024 * 1024
_PREFIX_BYTES = 4


class FrameExaminer(Protocol):
    """The interface that decides about frames: :class:`~engine.faults.fault_injector.FaultInjector`."""

    def opened(self, interceptor: FrameInterceptor) -> None: ...

    def closed(self, interceptor: FrameInterceptor) -> None: ...

    def examine(self, interceptor: FrameInterceptor, direction: Direction, frame: bytes) -> None: ...


class FrameInterceptor:
    """The handler of the real connection, and the connection of the real handler."""

    def __init__(self, injector: FrameExaminer, handler: FrameHandler) -> None:
        self._injector = injector
        self._handler = handler
        #: A handler that accepts decoded frames need not decode them again.
        self._take_command: Callable[[RemotingCommand], None] | None = getattr(handler, "command_received", None)
        self._connection: Connection | None = None
        self.remote_address = ""
        self.local_address = ""
        #: The id of the client at the other end, once it is known.
        self.client_id = ""
        #: Called by the connection with each frame, without its length prefix; by the handler with whole frames.
        self.frame_received: Callable[[bytes], None] = handler.frame_received
        self.send_frame: Callable[[bytes], None] = self._send_nothing
        self._asked: dict[Direction, dict[int, tuple[FrameSubject, int]]] = {Direction.IN: {}, Direction.OUT: {}}
        self._asked_bytes = 0

    def guard(self, concerned: frozenset[Direction]) -> None:
        """Pass frames of these directions to the fault injector, and all others around it."""
        assert self._connection is not None, "an interceptor is set once its connection is open"
        is_in, is_out = Direction.IN in concerned, Direction.OUT in concerned
        self.frame_received = self._examine_received if is_in else self._handler.frame_received
        self.send_frame = self._examine_sent if is_out else self._connection.send_frame
        if not concerned:
            for asked in self._asked.values():
                asked.clear()
            self._asked_bytes = 0

    # --- the handler of the connection --------------------------------------------------------------------------------

    def connection_made(self, connection: Connection) -> None:
        self._connection = connection
        self.remote_address, self.local_address = connection.remote_address, connection.local_address
        self._injector.opened(self)
        self._handler.connection_made(self)

    def connection_lost(self, reason: str) -> None:
        self._injector.closed(self)
        self._handler.connection_lost(reason)

    # --- the connection of the handler --------------------------------------------------------------------------------

    @property
    def is_closing(self) -> bool:
        return self._connection is None or self._connection.is_closing

    @property
    def unsent_bytes(self) -> int:
        return 0 if self._connection is None else self._connection.unsent_bytes

    @property
    def has_room(self) -> bool:
        return self._connection is None or self._connection.has_room

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    # --- internals ----------------------------------------------------------------------------------------------------

    def _examine_received(self, frame: bytes) -> None:
        self._injector.examine(self, Direction.IN, frame)

    def _examine_sent(self, frame: bytes) -> None:
        self._injector.examine(self, Direction.OUT, frame[_PREFIX_BYTES:])

    def _send_nothing(self, frame: bytes) -> None:
        """Discard a frame, because the connection is not open yet."""

    def pass_on(self, direction: Direction, frame: bytes) -> None:
        """Pass ``frame``, without its length prefix, to its destination, or discard it if the connection is closed."""
        if self._connection is None or self._connection.is_closing:
            return
        if direction is Direction.IN:
            self._handler.frame_received(frame)
        else:
            self._connection.send_frame(len(frame).to_bytes(_PREFIX_BYTES) + frame)

    def let_in(self, frame: bytes, command: RemotingCommand) -> None:
        """Pass a frame that has just arrived and was decoded to the handler."""
        if self._take_command is None:
            self._handler.frame_received(frame)
        else:
            self._take_command(command)

    def answer(self, whole_frame: bytes) -> None:
        """Send a reply that does not come from the handler."""
        if self._connection is not None:
            self._connection.send_frame(whole_frame)

    def remember(self, direction: Direction, subject: FrameSubject, size: int) -> None:
        """Remember a request of ``size`` bytes whose reply will pass in the other direction."""
        asked = self._asked[direction]
        self._forget(direction, subject.command.opaque)
        while asked and (len(asked) >= REQUESTS_REMEMBERED or self._asked_bytes + size > REMEMBERED_BYTES_MAX):
            self._forget(direction, next(iter(asked)))
        asked[subject.command.opaque] = subject, size
        self._asked_bytes += size

    def request_of(self, direction: Direction, opaque: int) -> FrameSubject | None:
        """Return the request that a reply of this direction answers."""
        return self._forget(Direction.OUT if direction is Direction.IN else Direction.IN, opaque)

    def _forget(self, direction: Direction, opaque: int) -> FrameSubject | None:
        subject, size = self._asked[direction].pop(opaque, (None, 0))
        self._asked_bytes -= size
        return subject
