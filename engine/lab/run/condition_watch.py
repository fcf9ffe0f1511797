"""Watches whether a :class:`~engine.lab.scenario.condition.Condition` has come true."""

from __future__ import annotations

from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.world.world import ScenarioWorld


class ConditionWatch:
    """Check what is new since its creation, or since the last check."""

    def __init__(self, world: ScenarioWorld, condition: Condition) -> None:
        self.condition = condition
        self._world = world
        self.begin()
        self._is_met = {
            ConditionKind.LABEL: self._label,
            ConditionKind.FRAME: self._frame,
            ConditionKind.SENT: self._send_ended,
            ConditionKind.CONSUME_BEGINS: self._consume_began,
            ConditionKind.CONSUMED: self._consume_ended,
            ConditionKind.COMMAND: self._command,
            ConditionKind.TIME: self._time,
        }[condition.on]

    def begin(self) -> None:
        """Ignore the events so far."""
        history = self._world.history
        self._parcels = self._world.witness.frames.count
        self._time_is_past = self._world.now_us >= self.condition.time_us
        self._sent = len(history.sends_returned)
        self._began = len(history.consumes_began)
        self._ended = len(history.consumes_ended)
        self._commands = len(history.commands)

    def is_met(self) -> bool:
        """Return whether it happened during the events since the last check (``LABEL``: during the last one)."""
        return self._is_met()

    def _frame(self) -> bool:
        sent = self._world.witness.frames
        new, self._parcels = sent.after(self._parcels), sent.count
        return any(
            self.condition.contains.lower() in sent.name_of(frame).lower()
            for frame in new
            if frame.is_frame and self.condition.node in ("", frame.source, frame.target)
        )

    def _label(self) -> bool:
        event = self._world.journal.entries[-1]
        actor = event.actor
        # Actors are named node/task, links source->target.
        node = actor.partition("/")[0] if "/" in actor else actor.partition("#")[0].rpartition("->")[2]
        return self.condition.fits(node, actor, event.label)

    def _send_ended(self) -> bool:
        new, self._sent = self._world.history.sends_returned[self._sent :], len(self._world.history.sends_returned)
        return any(self.condition.fits(send.node, send.key, send.status, send.detail) for send in new)

    def _consume_began(self) -> bool:
        new, self._began = self._world.history.consumes_began[self._began :], len(self._world.history.consumes_began)
        return any(self.condition.fits(call.node, call.key, call.topic) for call in new)

    def _consume_ended(self) -> bool:
        new, self._ended = self._world.history.consumes_ended[self._ended :], len(self._world.history.consumes_ended)
        return any(self.condition.fits(call.node, call.key, call.topic, call.result) for call in new)

    def _command(self) -> bool:
        new, self._commands = self._world.history.commands[self._commands :], len(self._world.history.commands)
        return any(self.condition.fits(applied.command.target, applied.command.kind) for applied in new)

    def _time(self) -> bool:
        if self._time_is_past:
            return False
        self._time_is_past = self._world.now_us >= self.condition.time_us
        return self._time_is_past
