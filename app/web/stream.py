"""The live stream: its viewers, their messages, and the thread that sends them.

One publisher thread takes the state from the engine at most ten times a second, and only while there are viewers. It
numbers the states, computes one patch for all and hands messages to the transport, so a viewer's messages are always in
order. Browsers' events arrive in other threads and only change the viewers' records, under a lock. The engine's thread
never waits for any of this.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from app.foundation.patch import Operation, difference
from app.foundation.viewer import Viewer
from app.web.live_source import MemberWithoutBroker
from engine.runtime.live.engine_thread import EngineUnavailable

log = logging.getLogger("glassmq.stream")

#: Shortest time between two states.
INTERVAL_S = 0.1
#: The inverse of the share of time that the stream may use: a state that took 10 ms is followed by 200 ms rest.
REST_FACTOR = 20
#: Browsers that may watch at the same time.
VIEWERS_MAX = 32


class Transport(Protocol):
    """Carries messages to browsers. Neither method may block for long."""

    def send(self, viewer_ids: list[str], event: str, payload: Mapping[str, object]) -> None: ...

    def disconnect(self, viewer_id: str, reason: str) -> None: ...


class StreamSource(Protocol):
    """The source of a stream's states."""

    def state(self) -> Mapping[str, object]:
        """Return a fresh tree; parts that did not change may be the same objects. Raises :class:`EngineUnavailable`."""
        ...

    def history(self) -> Mapping[str, object]:
        """Return what a snapshot has apart from the state. Raises :class:`EngineUnavailable`."""
        ...


class TooManyViewers(Exception):
    """There is no room for another browser."""


class LiveStream:
    """Sends the source's state to every viewer, as one snapshot and then patches."""

    def __init__(self, source: StreamSource, transport: Transport, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._transport = transport
        self._clock = clock
        self._lock = threading.Lock()
        self._viewers: dict[str, Viewer] = {}
        self._state: Mapping[str, object] | None = None
        self._sequence = 0
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # ------------------------------------------------------------------------------------- browsers' events

    def add_viewer(self, viewer_id: str) -> None:
        """Add a browser that connected. Raises :class:`TooManyViewers`."""
        with self._lock:
            if len(self._viewers) >= VIEWERS_MAX:
                raise TooManyViewers(f"{VIEWERS_MAX} browsers are watching already")
            self._viewers[viewer_id] = Viewer(viewer_id, self._clock())
        self._wake.set()

    def remove_viewer(self, viewer_id: str) -> None:
        """Remove a browser that is gone."""
        with self._lock:
            self._viewers.pop(viewer_id, None)

    def event_received(self, viewer_id: str, event: str, arguments: tuple[object, ...]) -> None:
        """Handle one event from a browser.

        Unusable events are ignored; floods and too many of them end the connection.
        """
        with self._lock:
            viewer = self._viewers.get(viewer_id)
            if viewer is None:
                return
            if not viewer.may_send_event(self._clock()):
                reason = "too many events"
            elif self._handle(viewer, event, arguments) or not viewer.sent_nonsense():
                reason = None
            else:
                reason = "too many events that mean nothing"
            if reason is not None:
                del self._viewers[viewer_id]
        if reason is not None:
            log.warning("a browser was disconnected: %s", reason)
            self._transport.disconnect(viewer_id, reason)

    @staticmethod
    def _handle(viewer: Viewer, event: str, arguments: tuple[object, ...]) -> bool:
        """Carry out one event; return False when it means nothing."""
        match event, arguments:
            case "acknowledge", ({"sequence": int() as sequence},) if not isinstance(sequence, bool):
                return viewer.acknowledge(sequence)
            case "resync", () | ({},):
                viewer.resync()
            case _:
                return False
        return True

    # ------------------------------------------------------------------------------------------- publishing

    def publish_once(self) -> None:
        """Take one state from the source and send what each viewer needs. Called by one thread only."""
        with self._lock:
            if not self._viewers:
                self._state = None
                return
        state = self._source.state()
        operations: list[Operation] = [] if self._state is None else difference(self._state, state)
        if self._state is None or operations:
            self._sequence += 1
        self._state = state
        with self._lock:
            viewers = list(self._viewers.values())
            for_patch = [v.viewer_id for v in viewers if operations and v.takes_patch(self._sequence)]
            for_snapshot = [v.viewer_id for v in viewers if v.takes_snapshot(self._sequence)]
        if for_patch:
            self._transport.send(for_patch, "patch", {"sequence": self._sequence, "operations": operations})
        if for_snapshot:
            self._transport.send(
                for_snapshot,
                "snapshot",
                {"sequence": self._sequence, "state": state, "history": self._source.history()},
            )

    def _report_absence(self, absence: MemberWithoutBroker) -> None:
        with self._lock:
            viewers = list(self._viewers)
        if viewers:
            self._transport.send(viewers, "absent", absence.reported)

    @property
    def viewer_count(self) -> int:
        """Return how many browsers watch."""
        with self._lock:
            return len(self._viewers)

    # --------------------------------------------------------------------------------------------- life cycle

    def start(self) -> None:
        """Start the publisher thread."""
        assert self._thread is None
        thread = threading.Thread(target=self._run, name="live-stream", daemon=True)
        thread.start()
        self._thread = thread

    def stop(self) -> None:
        """Stop the publisher thread and wait until it is gone."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stop.is_set():
            if self.viewer_count == 0:
                self._wake.wait()
                self._wake.clear()
            started = self._clock()
            try:
                self.publish_once()
                rest = max(INTERVAL_S, REST_FACTOR * (self._clock() - started))
            except MemberWithoutBroker as absence:
                self._report_absence(absence)
                rest = 1.0
            except EngineUnavailable as error:
                log.warning("no state for the page: %s", error)
                rest = 1.0
            except Exception:
                log.exception("the live stream could not publish a state; it goes on")
                rest = 1.0
            self._stop.wait(rest)
