"""What a world has to do that may take many events: it is done in slices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from app.json_types import JsonObject
from app.lab.timeline import EVENTS_PER_LOOK
from engine.lab.condition import Condition
from engine.lab.recording import Recording
from engine.lab.run import STEP_ACTOR_MAX_EVENTS, LabRun


class Job(ABC):
    """One thing to do with a run."""

    kind: str
    target: int | None = None

    @abstractmethod
    def advance(self, run: LabRun, until: Callable[[], bool]) -> bool:
        """Go on until ``until()``; True when it is done."""

    def as_json(self, run: LabRun) -> JsonObject:
        """For the page: what is going on, and how far it has come."""
        return {"kind": self.kind, "event": run.event_number, "target": self.target}


class Rebuild(Job):
    """Brings a run to where its recording was made. The run has the recording's commands already."""

    kind = "rebuild"

    def __init__(self, recording: Recording) -> None:
        self.target = recording.event
        self._time_us = recording.time_us

    def advance(self, run: LabRun, until: Callable[[], bool]) -> bool:
        """See the base."""
        assert self.target is not None
        while (left := self.target - run.event_number) > 0:
            if until():
                return False
            if run.run_events(min(EVENTS_PER_LOOK, left)) == 0:
                return True
        # The clock may have gone on after the last event; nothing more is due by then.
        run.stand_at(self.target, self._time_us)
        return True


class RunUntil(Job):
    """Runs until a condition is met."""

    kind = "run-until"

    def __init__(self, condition: Condition) -> None:
        self._condition = condition

    def advance(self, run: LabRun, until: Callable[[], bool]) -> bool:
        """See the base."""
        while not until():
            before = run.event_number
            if run.run_until(self._condition, EVENTS_PER_LOOK) or run.stopped_by is not None or run.is_over:
                return True
            if run.event_number == before:
                return True
        return False


class StepActor(Job):
    """Runs until one actor has run one event."""

    kind = "step-actor"

    def __init__(self, actor: str) -> None:
        self._actor = actor
        self._events_left = STEP_ACTOR_MAX_EVENTS

    def advance(self, run: LabRun, until: Callable[[], bool]) -> bool:
        """See the base."""
        entries = run.world.lab.journal.entries
        while not until():
            self._events_left -= 1
            if not run.step() or entries[-1].actor == self._actor or self._events_left <= 0:
                return True
        return False
