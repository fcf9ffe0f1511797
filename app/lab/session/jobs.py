"""Work on a world that may take many events; it is done in slices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.lab.session.timeline import EVENTS_PER_LOOK
from engine.lab.run.run import STEP_ACTOR_MAX_EVENTS, LabRun

if TYPE_CHECKING:
    from app.picture.world.playing import Busy
    from engine.lab.run.setting_fork import SettingFork
    from engine.lab.scenario.condition import Condition


class BackgroundJob(ABC):
    """One piece of work on a run."""

    kind: str
    target: int | None = None

    @abstractmethod
    def advance(self, run: LabRun, until: Callable[[], bool]) -> bool:
        """Continue until ``until()`` is true; return True when the job is done."""

    def close(self) -> None:
        """Free what the job holds: it is done, or no longer wanted."""
        return

    def as_json(self, run: LabRun) -> Busy:
        """Return what is going on, and the progress, for the page."""
        return {"kind": self.kind, "event": run.event_number, "target": self.target}


class Rebuild(BackgroundJob):
    """Brings a run, which already has all its commands, to its target.

    :param time_us: how far the clock went on after the last event.
    """

    kind = "rebuild"

    def __init__(self, event: int, time_us: int = 0) -> None:
        self.target = event
        self._time_us = time_us

    def advance(self, run: LabRun, until: Callable[[], bool]) -> bool:
        assert self.target is not None
        while (left := self.target - run.event_number) > 0:
            if until():
                return False
            if run.run_events(min(EVENTS_PER_LOOK, left)) == 0:
                return True
        # The clock may have gone on after the last event; nothing more is due by then.
        run.stand_at(self.target, self._time_us)
        return True


class RunUntil(BackgroundJob):
    """Runs until a condition is met."""

    kind = "run-until"

    def __init__(self, condition: Condition) -> None:
        self._condition = condition

    def advance(self, run: LabRun, until: Callable[[], bool]) -> bool:
        while not until():
            before = run.event_number
            if run.run_until(self._condition, EVENTS_PER_LOOK) or run.stopped_by is not None or run.is_over:
                return True
            if run.event_number == before:
                return True
        return False


class StepActor(BackgroundJob):
    """Runs until one actor has run one event."""

    kind = "step-actor"

    def __init__(self, actor: str) -> None:
        self._actor = actor
        self._events_left = STEP_ACTOR_MAX_EVENTS

    def advance(self, run: LabRun, until: Callable[[], bool]) -> bool:
        entries = run.world.journal.entries
        while not until():
            self._events_left -= 1
            if not run.step() or entries[-1].actor == self._actor or self._events_left <= 0:
                return True
        return False


class ChangeSetting(BackgroundJob):
    """Runs a scenario again with another setting; the page shows the old run meanwhile.

    :param install: gets the new run when it has reached the same virtual time.
    """

    kind = "setting"

    def __init__(self, fork: SettingFork, target: int, install: Callable[[LabRun], None]) -> None:
        self._fork: SettingFork | None = fork
        self.target = self._target = target
        self._install = install

    def advance(self, run: LabRun, until: Callable[[], bool]) -> bool:
        fork = self._fork
        assert fork is not None
        while not until():
            if fork.advance(EVENTS_PER_LOOK):
                self._fork = None
                self._install(fork.run)
                return True
        return False

    def close(self) -> None:
        if self._fork is not None:
            self._fork.run.close()
            self._fork = None

    def as_json(self, run: LabRun) -> Busy:
        done = self._target if self._fork is None else self._fork.run.event_number
        return {"kind": self.kind, "event": done, "target": self.target}
