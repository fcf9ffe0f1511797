"""One end of a simulated connection. It only carries bytes: no object is ever shared between two nodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeVar

from engine.runtime.connection_limits import IDLE_TIMEOUT_MS, UNSENT_LIMIT_BYTES, UNSENT_UNCOUNTED_BYTES
from engine.runtime.frame_splitter import Splitter, splitter_of
from engine.runtime.lab.lab_actor import LabNode
from engine.runtime.lab.lab_link_fault import ParcelKind
from engine.runtime.lab.lab_loop import LabLoop
from engine.runtime.port import FrameHandler
from engine.runtime.unsent_budget import UnsentBudget

_T = TypeVar("_T")
#: The labels of a link's events in the journal.
FRAME_ARRIVES = "frame arrives"


class Links(Protocol):
    """The interface of the network for a connection."""

    loop: LabLoop

    def carry(
        self,
        sender: LabConnection,
        kind: ParcelKind,
        data: bytes,
        label: str,
        arrive: Callable[..., object],
        *arguments: object,
    ) -> int:
        """Send one parcel to the other end of ``sender``'s connection; return how many copies are in transit."""
        ...

    def forget(self, connection: LabConnection) -> None:
        """Remove a closed connection."""
        ...


class LabConnection:
    """The end on ``node``. Arrivals here run as one actor: the link towards this end.

    That actor belongs to this end's node: while the node is paused, arrivals accumulate as in a kernel's socket buffer;
    when it crashes, frames in transit to it are lost.
    """

    #: The other end; set by the network right after both ends exist.
    peer: LabConnection
    #: Both are created when this end is informed that the connection is open.
    _handler: FrameHandler
    _splitter: Splitter

    def __init__(
        self,
        network: Links,
        node: LabNode,
        make_handler: Callable[[], FrameHandler],
        local_address: str,
        remote_address: str,
        link_name: str,
        budget: UnsentBudget | None = None,
    ) -> None:
        """Create an end. ``budget`` is shared by all that its listener has accepted; None for the connecting end."""
        self.node = node
        self.local_address = local_address
        self.remote_address = remote_address
        self.actor = network.loop.new_actor(link_name, node)
        self.context = network.loop.context_of(self.actor)
        #: When the last parcel sent from this end arrives: later ones must not overtake it.
        self.last_arrival_us = 0
        self._network = network
        self._make_handler = make_handler
        self._unsent_bytes = 0
        self._budget = budget
        #: Frames that wait for the other end to read: to that end they are unsent.
        self._waiting: deque[bytes] = deque()
        self._is_made = False
        self._is_closing = False
        self._is_lost = False
        self._last_activity_us = network.loop.now_us

    @property
    def is_closing(self) -> bool:
        return self._is_closing

    @property
    def unsent_bytes(self) -> int:
        """Return the bytes sent that the other end's handler has not received yet: they fill buffers in transit."""
        return self._unsent_bytes

    @property
    def has_room(self) -> bool:
        return (
            self._budget is None
            or self._unsent_bytes <= UNSENT_UNCOUNTED_BYTES
            or self._unsent_bytes <= self._budget.share_bytes
        )

    def send_frame(self, frame: bytes) -> None:
        if self._is_closing:
            return
        if self._unsent_bytes + len(frame) > UNSENT_LIMIT_BYTES:
            self._close(f"the other end does not read: {self._unsent_bytes} bytes are unsent")
            return
        self._last_activity_us = self._network.loop.now_us
        copies = self._network.carry(self, ParcelKind.FRAME, frame, FRAME_ARRIVES, self.peer.frame_arrives, frame)
        self._unsent_bytes += copies * len(frame)
        self._count_unsent()

    def close(self) -> None:
        self._close("closed by this end")

    def abort(self, reason: str) -> None:
        """Close; in the lab unsent frames are already in transit, and cannot be recalled."""
        self._close(reason)

    def _close(self, reason: str) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        self._network.carry(self, ParcelKind.CLOSE, b"", "connection closes", self.peer.close_arrives)
        self._network.loop.post(self.actor, self.context, "connection lost", 0, self.lose, reason)

    def made(self) -> None:
        """Notify the handler that the connection is open."""
        self._handler = self._make_handler()
        self._splitter = splitter_of(self._handler)
        self._is_made = True
        self._guarded(self._handler.connection_made, self)
        self._watch_idleness()

    def frame_arrives(self, data: bytes) -> None:
        """Receive bytes from the other end."""
        if self._waiting or not self.has_room:
            self._waiting.append(data)
            return
        self._take(data)

    def _take(self, data: bytes) -> None:
        self.peer.arrived(len(data))
        if self._is_lost:
            reason = "connection reset: the other end closed it"
            self._network.carry(self, ParcelKind.CLOSE, b"", "connection closes", self.peer.close_arrives, reason)
            return
        self._last_activity_us = self._network.loop.now_us
        for frame in self._splitter.feed(data):
            if self._is_closing:
                return
            self._guarded(self._handler.frame_received, frame)
        if self._splitter.error is not None:
            self._close(self._splitter.error)

    def arrived(self, length: int) -> None:
        """Note that the other end has taken ``length`` bytes that this end sent."""
        self._unsent_bytes -= length
        self._count_unsent()
        if self._waiting and self._unsent_bytes <= UNSENT_UNCOUNTED_BYTES:
            self._network.loop.post(self.actor, self.context, "reads on", 0, self._take_waiting)

    def _take_waiting(self) -> None:
        while self._waiting and self.has_room:
            self._take(self._waiting.popleft())

    def _count_unsent(self) -> None:
        if self._budget is None or self._is_closing:
            return
        if self._unsent_bytes > UNSENT_UNCOUNTED_BYTES:
            self._budget.count(self)
        else:
            self._budget.forget(self)

    def close_arrives(self, reason: str = "closed by the other end") -> None:
        """Handle a close by the other end, or the end of its process."""
        if not self._is_closing:
            self.lose(reason)

    def lose(self, reason: str) -> None:
        """Notify the handler, once, that the connection is lost."""
        if self._is_lost:
            return
        self._is_closing = self._is_lost = True
        self._waiting.clear()
        self._network.forget(self)
        if self._is_made:
            self._guarded(self._handler.connection_lost, reason)

    def abandon(self) -> None:
        """End this end with its process: its handler is not notified."""
        self._is_closing = self._is_lost = True

    def _guarded(self, method: Callable[[_T], None], argument: _T) -> None:
        """Call the handler. An exception that leaves it is a bug: it is reported and ends the connection."""
        try:
            method(argument)
        except Exception as exception:
            self._network.loop.call_exception_handler(
                {"message": f"the handler of {self.actor.name} failed", "exception": exception}
            )
            self._close(f"the handler failed: {exception!r}")

    def _watch_idleness(self) -> None:
        """Close if nothing was read or written for the idle timeout; otherwise check again when that may be the
        case.
        """
        if self._is_closing:
            return
        loop = self._network.loop
        quiet_us = loop.now_us - self._last_activity_us
        if quiet_us >= IDLE_TIMEOUT_MS * 1_000:
            self._close(f"idle for {IDLE_TIMEOUT_MS // 1_000} s")
            return
        remaining_us = IDLE_TIMEOUT_MS * 1_000 - quiet_us
        loop.post(self.actor, self.context, "looks for idleness", remaining_us, self._watch_idleness)
