"""Faults of the live engine, for threads other than the engine's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.foundation.json_types import JsonObject
from app.live.fault_service import FaultService
from engine.runtime.live.engine_thread import CALL_TIMEOUT_S, EngineThread

#: Seconds for a restart: a killed broker that is started again checks its log first.
RESTART_TIMEOUT_S = 60.0


class LiveFaults:
    """The faults of the live engine. Each method returns the active faults: see app/live/fault_routes.py.

    Methods that change something raise :class:`~engine.faults.fault_rule.FaultRefused` (``CommandRefused`` for a
    malformed command); then nothing has happened. All raise ``EngineUnavailable``.
    """

    def __init__(self, thread: EngineThread, service: FaultService) -> None:
        self._thread = thread
        self._service = service

    def view(self) -> JsonObject:
        """Return the active faults and the held frames; while the engine is paused, only the pause and its remaining
        time.
        """
        paused_ms = self._thread.paused_ms
        if paused_ms:
            return {"is_active": True, "paused_ms": paused_ms}
        return self._thread.call(self._service.view)

    def apply(self, command: object) -> JsonObject:
        """Carry out a command; ``resume`` ends a pause."""
        if isinstance(command, dict) and command.get("kind") == "resume":
            self._thread.resume()
            return self.view()
        return self._thread.run(self._service.apply(command), RESTART_TIMEOUT_S)

    def clear(self) -> JsonObject:
        """End all faults, except stopped processes; held frames go on."""
        self._thread.resume()
        return self._call(self._service.clear)

    def remove(self, rule_id: int) -> JsonObject:
        """Remove one rule."""
        return self._call(self._service.injector.remove, rule_id)

    def look(self) -> JsonObject:
        """Note that the held frames are being viewed: they wait longer."""
        return self._call(self._service.injector.look)

    def pass_all(self) -> JsonObject:
        """Let held frames go on; rules that hold are removed."""
        return self._call(self._service.injector.stop_holding)

    def let_pass(
        self, held_id: int, fields: Mapping[str, str], properties: Mapping[str, str], body: bytes | None
    ) -> JsonObject:
        """Let one held frame go on, changed."""
        return self._call(self._service.let_pass, held_id, fields, properties, body)

    def drop_held(self, held_id: int) -> JsonObject:
        """Drop one held frame."""
        return self._call(self._service.injector.drop_held, held_id)

    def record(self, client: str, *, with_bodies: bool) -> JsonObject:
        """Record what these clients send and receive, from now on."""
        return self._call(lambda: self._service.injector.record(client, with_bodies=with_bodies))

    def stop_recording(self) -> JsonObject:
        """Stop recording; the record stays."""
        return self._call(self._service.injector.stop_recording)

    def frames(self, last: int | None = None) -> JsonObject:
        """Return the record as a file; ``last``: only this number of frames.

        Raises ``FaultRefused`` when nothing was recorded.
        """
        return self._thread.call(lambda: self._service.frames(last))

    def _call(self, act: Callable[..., object], *arguments: object) -> JsonObject:
        def in_engine() -> JsonObject:
            act(*arguments)
            return self._service.view()

        return self._thread.call(in_engine, CALL_TIMEOUT_S)
