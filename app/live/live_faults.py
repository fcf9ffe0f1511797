"""Faults of the live engine, for threads other than the engine's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from app.live.fault_service import FaultService

if TYPE_CHECKING:
    from app.picture.live.fault import ActiveFaults, AllowedFaults, PausedEngine
    from engine.runtime.live.engine_thread import EngineThread

_T = TypeVar("_T")

#: Seconds for a restart: a killed broker that is started again checks its log first.
RESTART_TIMEOUT_S = 60.0


class LiveFaults:
    """The faults of the live engine.

    All methods but ``ask`` return the active faults; ``view`` only the pause while the engine is paused.

    Methods that change something raise :class:`~engine.faults.fault_rule.FaultRefused` (``CommandRefused`` for a
    malformed command); then nothing has happened. All raise ``EngineUnavailable``.
    """

    def __init__(self, thread: EngineThread, service: FaultService) -> None:
        self._thread = thread
        self._service = service

    def view(self) -> AllowedFaults | PausedEngine:
        """Return the active faults and the held frames; while the engine is paused, only the pause and its remaining
        time.
        """
        paused_ms = self._thread.paused_ms
        if paused_ms:
            return {"is_allowed": True, "is_active": True, "paused_ms": paused_ms}
        return {"is_allowed": True, **self._thread.call(self._service.view)}

    def apply(self, command: object) -> ActiveFaults | PausedEngine:
        """Carry out a command; ``resume`` ends a pause."""
        if isinstance(command, dict) and command.get("kind") == "resume":
            self._thread.resume()
            return self.view()
        return self._thread.run(self._service.apply(command), RESTART_TIMEOUT_S)

    def clear(self) -> ActiveFaults:
        """End all faults, except stopped processes; held frames go on."""
        self._thread.resume()
        return self.change(FaultService.clear)

    def change(self, function: Callable[[FaultService], object]) -> ActiveFaults:
        """Run ``function`` in the engine's thread, and return the active faults."""

        def in_engine(service: FaultService) -> ActiveFaults:
            function(service)
            return service.view()

        return self.ask(in_engine)

    def ask(self, function: Callable[[FaultService], _T]) -> _T:
        """Run ``function`` in the engine's thread, and return its result; its exceptions pass through."""
        return self._thread.call(lambda: function(self._service))
