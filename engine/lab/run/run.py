"""A run: a world that is stepped from outside, with its commands, its checkers and its past.

    run = LabRun(load_scenario("general"), seed=1)
    run.run_events(500)
    run.apply(Command("crash", "B1"))
    run.run_to_time(10_000_000)
    earlier = run.fork_at(400)

The past is not stored: it is run again, which takes some ten microseconds per event.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

from engine.lab.checkers import CheckerSet, Violation
from engine.lab.run.condition_watch import ConditionWatch
from engine.lab.run.recording import COMMANDS_MAX, EVENTS_MAX, Recording, TimedCommand, parse_export, python_version
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.errors import CommandRefused, LabError, RecordingRefused, RunLimitReached
from engine.lab.scenario.scenario import Command, Scenario
from engine.lab.world.faults import apply_command, follow_script
from engine.lab.world.world import ScenarioWorld

#: How many events ``step_actor`` waits for the actor's turn.
STEP_ACTOR_MAX_EVENTS = 20_000


class LabRun:
    """A run, not yet stepped: event 1 is the next.

    :param commands: applied again where they were recorded, as the run gets there.
    :param check: whether the checkers run after each event.
    :ivar commands: what was applied so far.
    :ivar violations: what the checkers found so far.
    :ivar on_event: each is called with the number of every event, after it.
    :ivar stops_at_violations, stops_at_breakpoints: whether the ``run_...`` methods end there; ``stopped_by`` says by
        which. Single steps never ask.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int | None = None,
        commands: Sequence[TimedCommand] = (),
        *,
        check: bool = True,
    ) -> None:
        self.scenario = scenario
        self.world = ScenarioWorld(scenario, seed)
        follow_script(self.world)
        self.seed = self.world.seed
        self.commands: list[TimedCommand] = []
        self.violations: list[Violation] = []
        self.on_event: list[Callable[[int], None]] = []
        self.stops_at_violations = False
        self.stops_at_breakpoints = False
        self.stopped_by: Condition | Violation | None = None
        self.checkers = CheckerSet(self.world) if check else None
        #: False if this is a repetition of a recorded run and something differed from the recording.
        self.is_faithful = True
        self._pending = deque(commands)
        self._breakpoints = [ConditionWatch(self.world, condition) for condition in scenario.breakpoints]
        self._stop: Callable[[], bool] | None = None
        self._is_stopped = False
        self._has_ended = False

    # --- queries -----------------------------------------------------------------------------------------------------

    @property
    def event_number(self) -> int:
        """Return the number of the event that ran last."""
        return self.world.event_number

    @property
    def now_us(self) -> int:
        """Return the virtual time in microseconds."""
        return self.world.now_us

    @property
    def is_over(self) -> bool:
        """Return whether the scenario's time is up."""
        return self.world.is_over

    @property
    def is_replaying(self) -> bool:
        """Return whether recorded commands are still to come."""
        return bool(self._pending)

    @property
    def journal_hash(self) -> str:
        """Return a hash that is equal for two runs that did the same."""
        return self.world.journal.hash

    # --- continuing --------------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """Run one event. Return False if the story is over."""
        return self._run(1) == 1

    def step_actor(self, name: str) -> bool:
        """Run until the task or link named ``name`` has run one event; others run before its turn.

        Return False if its turn did not come within :data:`STEP_ACTOR_MAX_EVENTS` events.
        """
        entries = self.world.journal.entries
        return self._run_until(lambda: entries[-1].actor == name, STEP_ACTOR_MAX_EVENTS)

    def run_events(self, count: int) -> int:
        """Run up to ``count`` events; return how many ran."""
        return self._run(count, stop=self._stop_asked_for())

    def run_to_time(self, time_us: int, max_events: int = EVENTS_MAX) -> int:
        """Run everything that is due by then, at most ``max_events``; return how many ran."""
        return self._run(max_events, time_us, self._stop_asked_for())

    def run_until(self, condition: Condition, max_events: int) -> bool:
        """Run until ``condition`` is met; return whether it was, before the story or ``max_events`` ended."""
        if condition.on is ConditionKind.TIME:
            ran = self.run_to_time(condition.time_us, max_events)
            # If max_events ended the run, there may be more events at that very time.
            return ran < max_events and self.now_us >= condition.time_us
        watch = ConditionWatch(self.world, condition)
        return self._run_until(watch.is_met, max_events)

    def _run_until(self, is_met: Callable[[], bool], max_events: int) -> bool:
        met = False
        other_stop = self._stop_asked_for()

        def stop() -> bool:
            nonlocal met
            met = is_met()
            return met or (other_stop is not None and other_stop())

        self._run(max_events, stop=stop)
        return met

    def _run(self, limit: int, until_us: int | None = None, stop: Callable[[], bool] | None = None) -> int:
        """Run up to ``limit`` events due by ``until_us``, or until ``stop()`` after one of them; return how many ran.

        Recorded commands are applied where they belong.
        """
        end_us = self.world.end_us if until_us is None else min(until_us, self.world.end_us)
        self.stopped_by, self._stop, self._is_stopped = None, stop, False
        done = 0
        while done < limit and not self._has_ended:
            if self.event_number >= EVENTS_MAX:
                raise RunLimitReached("refusal.too_many_events", limit=EVENTS_MAX)
            wanted = min(limit - done, self._events_until_next_command(end_us), EVENTS_MAX - self.event_number)
            ran = self.world.run_events(wanted, end_us, self._after_event)
            done += ran
            if self._is_stopped or ran < wanted:
                break
        if self._pending and not self._is_stopped:
            self._events_until_next_command(end_us)
        self._end_if_over()
        return done

    def _end_if_over(self) -> None:
        if self.is_over and not self._has_ended:
            self._has_ended = True
            if self.checkers is not None:
                self.violations.extend(self.checkers.at_end())

    def stand_at(self, event: int, time_us: int) -> None:
        """Run up to event ``event``; then advance the clock, but run no further event, to ``time_us``.

        A recorded run stood there: events that are due may not have run yet, which ``run_to_time`` would run.
        """
        self._run(event - self.event_number)
        self._events_until_next_command(time_us)
        self.world.let_time_pass(min(time_us, self.world.end_us))
        self._end_if_over()

    def _after_event(self) -> bool:
        number = self.world.loop.event_number
        if self.checkers is not None:
            found = self.checkers.after_event(number)
            if found:
                self.violations.extend(found)
        for hook in self.on_event:
            hook(number)
        if self._stop is None:
            return False
        self._is_stopped = self._stop()
        return self._is_stopped

    def _stop_asked_for(self) -> Callable[[], bool] | None:
        """Return the function that ends a run at a breakpoint or violation, if requested."""
        if not (self.stops_at_violations or (self.stops_at_breakpoints and self._breakpoints)):
            return None
        known = len(self.violations)
        for watch in self._breakpoints:
            watch.begin()

        def stop() -> bool:
            if self.stops_at_breakpoints:
                # All are evaluated: each has to see every event.
                met = [watch.condition for watch in self._breakpoints if watch.is_met()]
                if met:
                    self.stopped_by = met[0]
            if self.stops_at_violations and len(self.violations) > known:
                self.stopped_by = self.violations[known]
            return self.stopped_by is not None

        return stop

    # --- commands ----------------------------------------------------------------------------------------------------

    def apply(self, command: Command) -> None:
        """Apply ``command`` now, before the next event. Recorded later commands are dropped: the past forks here.

        Raises :class:`CommandRefused`, in which case nothing has happened.
        """
        if len(self.commands) >= COMMANDS_MAX:
            raise RunLimitReached("refusal.too_many_commands", limit=COMMANDS_MAX)
        # A repetition gets here in another way (in one run, not in slices); this makes the two states the same.
        self.world.let_time_pass(self.now_us)
        apply_command(self.world, command)
        self._pending.clear()
        self.commands.append(TimedCommand(self.event_number, self.now_us, command))

    def _events_until_next_command(self, end_us: int) -> int:
        """Apply the recorded commands that belong here; return how many events may run before the next one."""
        while self._pending:
            timed = self._pending[0]
            if timed.event > self.event_number or timed.time_us > end_us:
                return max(1, timed.event - self.event_number)
            # Nothing ran in between when this was recorded; the clock may have advanced nevertheless.
            self.world.let_time_pass(timed.time_us)
            self._pending.popleft()
            try:
                apply_command(self.world, timed.command)
            except CommandRefused as error:
                raise RecordingRefused("refusal.recorded_refused", event=timed.event, problem=error.text) from error
            self.commands.append(timed)
        return EVENTS_MAX

    # --- past and other places ---------------------------------------------------------------------------------------

    def fork_at(self, event: int) -> LabRun:
        """Return a separate run directly after event ``event``, with the commands up to there applied."""
        commands = tuple(timed for timed in self.commands if timed.event <= event)
        event = min(event, self.event_number)
        fork = LabRun(self.scenario, self.seed, commands, check=self.checkers is not None)
        fork.stand_at(event, self.now_us if event == self.event_number else 0)
        return fork

    def forget_after(self, event: int) -> None:
        """Drop recorded commands after event ``event``."""
        self._pending = deque(timed for timed in self._pending if timed.event <= event)

    def recording(self, later: Sequence[TimedCommand] = ()) -> Recording:
        """Return everything needed to repeat it, except for the journal's hash, which takes time.

        :param later: commands that the run reaches when it is played on.
        """
        commands = (*self.commands, *later)
        return Recording(self.scenario, self.seed, commands, self.event_number, self.now_us, python=python_version())

    def export(self) -> dict[str, Any]:
        """Return this run as a small JSON object; :meth:`load` reads it back."""
        return dataclasses.replace(self.recording(), journal_hash=self.journal_hash).to_dict()

    def link(self, later: Sequence[TimedCommand] = ()) -> str:
        """Return :meth:`Recording.link` of :meth:`recording` with ``later``."""
        return self.recording(later).link()

    @classmethod
    def load(cls, data: object) -> LabRun:
        """Return the run of an exported object, run up to its recorded position.

        Raises :class:`RecordingRefused`, :class:`~engine.lab.scenario.errors.ScenarioError`.
        """
        return cls.replay(parse_export(data))

    @classmethod
    def replay(cls, recording: Recording) -> LabRun:
        """Return the run of a recording, run up to its recorded position. Raises :class:`RecordingRefused`.

        Another version of the engine or of Python may differ from the recording: ``is_faithful`` says so.
        """
        run = cls(recording.scenario, recording.seed, recording.commands)
        try:
            run.stand_at(recording.event, recording.time_us)
        except LabError:
            run.close()
            raise
        run.is_faithful = run.is_at(recording)
        return run

    def is_at(self, recording: Recording) -> bool:
        """Return whether the run stands where the recorded one stood, as far as the recording tells.

        The journal's hash, which a link does not have, proves it; event and virtual time alone do not.
        """
        place = (self.event_number, self.now_us) == (recording.event, recording.time_us)
        return place and recording.journal_hash in ("", self.journal_hash)

    def difference_from(self, recording: Recording) -> Literal["changed_scenario", "other_version"] | None:
        """Return why this is another run than the recorded one, at its place; None: nothing tells that it is."""
        if recording.is_changed:
            return "changed_scenario"
        return None if self.is_at(recording) else "other_version"

    # --- end ---------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Free the world."""
        self.on_event.clear()
        self.world.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
