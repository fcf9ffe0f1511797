"""Plays one world: its pace, the moment that is viewed, and the jobs for it.

Nothing here blocks for long: what may take many events (rebuilding from a link, "run until", a fork far back, a setting
that is changed from the beginning on) is a job that goes on in slices. Used by the lab's thread only.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from app.foundation.translator import in_all_languages
from app.lab.foundation.refusal import LabRefused, refusal_of
from app.lab.session.jobs import BackgroundJob, ChangeSetting, Rebuild, RunUntil, StepActor
from app.lab.session.journal_pages import window
from app.lab.session.look_back import LookBack
from app.lab.session.pace import Pace
from app.lab.session.playback_speed import MovedWorldSpeed
from app.lab.session.timeline import Timeline
from app.lab.views.world_view import stop_reason
from engine.lab.run.recording import EVENTS_MAX, Recording
from engine.lab.run.run import LabRun
from engine.lab.run.setting_fork import SettingFork
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.errors import LabError, RecordingRefused, RunLimitReached

if TYPE_CHECKING:
    from app.picture.frame import FrameDetail
    from app.picture.session.journal import PlayedWindow
    from app.picture.world.playing import Playing, StopReason, TimeAhead
    from app.picture.world.world import WorldPicture
    from engine.lab.scenario.scenario import Command

#: A fork at most this many events after the nearest earlier copy is run immediately; a longer way is a job.
FORK_AT_ONCE_EVENTS = 1_500
#: Kinds of stops; any other error is a failure of the engine.
_GAVE_UP = ((RunLimitReached, "limit"), (RecordingRefused, "differs"))


class WorldPlayer:
    """Plays one world.

    :param on_change: is called when there is something new to show, with whether a person waits for it.
    :param on_new_story: is called with the event after which everything recorded is forgotten.
    """

    def __init__(
        self,
        run: LabRun,
        clock: Callable[[], float],
        on_change: Callable[[bool], None],
        on_new_story: Callable[[int], None],
    ) -> None:
        self.timeline = Timeline(run)
        self.playing = False
        self._on_change = on_change
        self._on_new_story = on_new_story
        self._pace = Pace()
        self._past = LookBack(self.timeline, clock)
        self._job: BackgroundJob | None = None
        #: What to do when the job is done.
        self._after_job: Callable[[], None] | None = None
        self._stopped_by: StopReason | None = None
        self._forked_from: str | None = None
        #: Why this is not the recorded run, by language.
        self._differs: dict[str, str] | None = None
        #: Set for a world that is one of two side by side.
        self._playback_speed: MovedWorldSpeed | None = None

    @property
    def run(self) -> LabRun:
        """Return the run at its newest event."""
        return self.timeline.run

    @property
    def in_past(self) -> bool:
        """Return whether an earlier event is viewed."""
        return self._past.view is not None

    @property
    def has_work(self) -> bool:
        """Return whether the player needs slices of time: it plays, or has a job."""
        return self.playing or self.has_job

    @property
    def has_job(self) -> bool:
        """Return whether the player has a job to run at full speed."""
        return self._job is not None or self.is_seeking

    @property
    def is_seeking(self) -> bool:
        """Return whether it is on the way to an event of the past."""
        return self._past.is_seeking

    # ------------------------------------------------------------------------------ controls

    def play(self, now: float, slow_to: int = 0) -> None:
        """Let time pass, at the chosen speed. In the past it continues from there, as a fork.

        :param slow_to: the number of an event that the user wants to see; the last ones before it are shown one by one.
        """
        self._require_ready()
        self._from_here(lambda: self._play(now, slow_to))

    def _play(self, now: float, slow_to: int) -> None:
        self._require_future()
        self.playing = True
        self._stopped_by = None
        self.run.stops_at_violations = self.run.stops_at_breakpoints = True
        self._pace.begin(now, self.run.now_us, slow_to)
        self._changed()

    def pause(self) -> None:
        """Stop, and end a job."""
        self.playing = False
        if not isinstance(self._job, Rebuild):
            self._end_job()
        self._changed()

    def wake(self, now: float) -> None:
        """Go on from where it is: no time has passed while there were no viewers."""
        self._pace.go_on(now, self.run.now_us)

    def rest(self) -> None:
        """Stop because there are no viewers, and free the copies that only make going back fast."""
        if self.playing:
            self.pause()
        if not self.in_past and not self.has_job and self.timeline.copies:
            self.timeline.free_copies()

    def step(self) -> None:
        """Run one event; in the past, go forward by one recorded event."""
        self.pause()
        if self.in_past:
            self.scrub(min(self._past.event + 1, self.run.event_number), step=1)
            return
        self._require_future()
        self._guarded(self.run.step)

    def step_back(self) -> None:
        """Look at the world before the last event."""
        self.pause()
        if self._past.event > 0:
            self.scrub(self._past.event - 1, step=-1)

    def scrub(self, event: int, *, step: int = 0) -> None:
        """View the world as it was after ``event``. ``step``: the number of events from the viewed one, when going by
        steps.

        Raises :class:`LabRefused`.
        """
        self._require_ready()
        self.playing = False
        end = self.run.event_number
        if event > end:
            raise LabRefused("nothing_recorded", event=event, maximum=end)
        self._past.look_at(event, step=step)
        self._changed()

    def stand_at(self, time_us: int, *, anew: bool = False) -> None:
        """View the world as it was at a virtual time; run it there when it has not come that far.

        Violations and breakpoints do not stop it. With ``anew`` a viewer begins to watch: what was seen before is new
        again.
        """
        self._require_ready()
        self.pause()
        if self._playback_speed is None or anew:
            self._playback_speed = MovedWorldSpeed()
        run = self.run
        if time_us < run.now_us:
            entries = run.world.journal.entries
            place = bisect_right(entries, time_us, key=lambda entry: entry.time_us)
            event = entries[place - 1].number if place else 0
            self._past.look_at(event, time_us=time_us, at_once=True)
        else:
            self._past.look_at_head()
            if not run.is_over:
                self._stopped_by = None
                run.stops_at_violations = run.stops_at_breakpoints = False
                self._job = RunUntil(Condition(ConditionKind.TIME, time_us=time_us))
        self._changed()

    def step_actor(self, actor: str) -> None:
        """Run until ``actor`` has run one event. Raises :class:`LabRefused`."""
        if not self.in_past and all(known.name != actor for known in self.run.world.actors()):
            raise LabRefused("unknown_actor", actor=actor[:80])
        self._start_job(StepActor(actor))

    def run_until(self, condition: Condition) -> None:
        """Run at full speed until ``condition`` is met. Raises :class:`LabRefused`."""
        self._require_ready()
        if condition.on is ConditionKind.TIME:
            self._require_ahead(condition.time_us)
        self._start_job(RunUntil(condition))

    def set_speed(self, speed: float | Literal["auto"], now: float) -> None:
        """Set virtual seconds per second, or ``auto``: a pace that a viewer can follow."""
        self._pace.set_speed(speed)
        self._pace.begin(now, self.run.now_us)
        self._changed()

    def restart(self) -> None:
        """Start the same scenario and seed from the beginning, without commands."""
        self.pause()
        self._end_job()
        self._past.look_at_head()
        self._stopped_by = self._differs = None
        self._forked_from = self.run.link()
        self.timeline.replace(LabRun(self.run.scenario, self.run.seed))
        self._on_new_story(0)
        self._changed()

    def fork(self) -> None:
        """Continue from the event that is viewed: what came after it is forgotten."""
        self.pause()
        self._from_here(lambda: None)

    def command(self, data: object) -> None:
        """Carry out a command on the world. Raises :class:`LabRefused`."""
        self._require_ready()
        if isinstance(self._job, ChangeSetting):
            # The world of the command is about to be replaced.
            raise LabRefused("server_busy")
        try:
            command = parse_command(data)
        except LabError as error:
            raise refusal_of(error) from error
        self._from_here(lambda: self._apply(command))

    def _apply(self, command: Command) -> None:
        try:
            if command.kind == "setting":
                self._change_setting(command)
            else:
                self.run.apply(command)
                self._pace.look_anew()
                self._playback_speed = self._playback_speed and MovedWorldSpeed()
        except LabError as error:
            raise refusal_of(error) from error
        self._stopped_by = None
        self._changed()

    def rebuild(self, recording: Recording) -> None:
        """Run the events of a recording, in slices; then report whether something else happened than was recorded."""
        self._job = Rebuild(recording.event, recording.time_us)
        self._after_job = lambda: self._report_difference(recording)
        self._changed()

    def _report_difference(self, recording: Recording) -> None:
        reason = self.run.difference_from(recording)
        if reason is not None:
            self._differs = in_all_languages("lab.differs." + reason)
            self._changed()

    # ------------------------------------------------------------------------------ checks

    def recording(self) -> Recording:
        """Return the recording that rebuilds the world as it is viewed."""
        run, shown = self.run, self._past.shown_view
        event, time_us = (run.event_number, run.now_us) if shown is None else (shown["event"], shown["time_us"])
        commands = tuple(timed for timed in run.commands if timed.event <= event)
        return Recording(run.scenario, run.seed, commands, event, time_us)

    def frame_detail(self, number: int) -> FrameDetail | None:
        """Return everything about one frame, as far as it is kept."""
        return self.timeline.frames(self._past.shown_event).detail(number)

    def run_looked_at(self) -> LabRun:
        """Return a run at the viewed event, for reading only. Raises :class:`LabRefused`."""
        return self.timeline.world_at(self._past.shown_event).run

    def window(self, left_us: int, right_us: int) -> PlayedWindow:
        """Return what happened in a window of time."""
        event = self._past.shown_event
        calls = self.timeline.head.calls.between(left_us, right_us, event)
        return {**window(self.run.world.journal, self.timeline.frames(event), event, left_us, right_us), "calls": calls}

    def shown_view(self) -> WorldPicture:
        """Return the world as it is viewed."""
        past = self._past.shown_view
        return past if past is not None else self.timeline.head.build()

    def as_json(self) -> Playing:
        """Return the state of playing, for the page."""
        run = self.run
        return {
            "events_total": run.event_number,
            "time_total_us": run.now_us,
            "playing": self.playing,
            "speed": self._pace.speed,
            "speed_now": float(f"{self._pace.rate:.2g}") if self.playing else None,
            "pace": self._pace.why if self.playing else "",
            "ahead": self._ahead(),
            "in_past": self.in_past,
            "busy": self._job.as_json(run) if self._job is not None else self._past.as_json(),
            "stopped_by": None if self.in_past else self._stopped_by,
            "forked_from": self._forked_from,
            "differs": self._differs,
        }

    def _ahead(self) -> TimeAhead | None:
        if self._playback_speed is None or self.has_job:
            return None
        with contextlib.suppress(LabRefused):
            world = self.timeline.world_at(self._past.shown_event)
            return self._playback_speed.ahead(world.run)
        return None

    # ------------------------------------------------------------------------------ slices

    def advance(self, now: float, until: Callable[[], bool]) -> None:
        """Work until ``until()`` is true."""
        try:
            if self._past.is_seeking:
                if self._past.advance(now, until):
                    self._changed()
            elif self._job is not None:
                self._advance_job(until)
            elif self.playing:
                self._advance_play(now, until)
        except LabError as error:
            self._give_up(next((kind for of, kind in _GAVE_UP if isinstance(error, of)), "failure"), refusal_of(error))
        except LabRefused as refusal:
            self._give_up("failure", refusal)

    def _give_up(self, kind: str, why: LabRefused) -> None:
        """Report in the view that a job cannot be finished: no request waits for its answer."""
        self.playing = False
        self._end_job()
        self._stopped_by = {"kind": kind, "text": why.text}
        self._changed()

    def _advance_job(self, until: Callable[[], bool]) -> None:
        assert self._job is not None
        if self._job.advance(self.run, until):
            then = self._after_job
            self._end_job()
            self._note_stop()
            self._changed()
            if then is not None:
                then()
        self._on_change(False)

    def _end_job(self) -> None:
        if self._job is not None:
            self._job.close()
        self._job = self._after_job = None

    def _advance_play(self, now: float, until: Callable[[], bool]) -> None:
        run = self.run
        self._pace.advance(run, now, until)
        self._on_change(False)
        if run.stopped_by is not None or run.is_over:
            self.playing = False
            self._note_stop()
            self._changed()

    def _note_stop(self) -> None:
        """Report why the run did not continue."""
        reason = stop_reason(self.run, self.timeline.head.narrator)
        if reason is not None:
            self._stopped_by = reason

    # --------------------------------------------------------------------------- internals

    def _start_job(self, job: BackgroundJob) -> None:
        self._require_ready()
        self.pause()
        self._from_here(lambda: self._begin_job(job))

    def _begin_job(self, job: BackgroundJob) -> None:
        self._require_future()
        self.run.stops_at_violations = True
        self.run.stops_at_breakpoints = False
        self._stopped_by = None
        self._job = job
        self._changed()

    def _change_setting(self, command: Command) -> None:
        """Change a timer or size from the beginning on: a run of its own is brought to the same virtual time."""
        fork = SettingFork(self.run, command)
        self.pause()
        self._job = ChangeSetting(fork, self.run.event_number, self._install)

    def _install(self, run: LabRun) -> None:
        """Make another run the head; it stops where the old one would."""
        run.stops_at_violations = self.run.stops_at_violations
        run.stops_at_breakpoints = self.run.stops_at_breakpoints
        self._forked_from = self.run.link()
        self._past.look_at_head()
        self.timeline.replace(run)
        self._on_new_story(0)

    def _from_here(self, then: Callable[[], None]) -> None:
        """Make the viewed event the present, forget what came after it, and call ``then``; later if the way is long."""
        if not self.in_past:
            then()
            return
        event = self._past.event
        self._forked_from = self.run.link()
        self._past.look_at_head()
        self._stopped_by = None
        self.timeline.fork(event)
        self._on_new_story(event)
        self._changed()
        if event - self.run.event_number <= FORK_AT_ONCE_EVENTS:
            self.run.run_events(event - self.run.event_number)
            then()
        else:
            self._job, self._after_job = Rebuild(event), then

    def _require_ready(self) -> None:
        if isinstance(self._job, Rebuild):
            raise LabRefused("server_busy")

    def _require_ahead(self, time_us: int) -> None:
        """Check that there is something to run up to ``time_us``, from the viewed event."""
        view = self.shown_view()
        now_us, upcoming = view["time_us"], view["next"]
        is_due = upcoming is not None and upcoming["due_us"] <= now_us
        if time_us < now_us or (time_us == now_us and not is_due):
            raise LabRefused("time_past", time=f"{time_us / 1e6:.10g}", now=f"{now_us / 1e6:.10g}")

    def _require_future(self) -> None:
        self._require_ready()
        if self.run.is_over:
            raise LabRefused("over")
        if self.run.event_number >= EVENTS_MAX:
            raise LabRefused("event_limit", limit=EVENTS_MAX)

    def _guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
        except LabError as error:
            raise refusal_of(error) from error
        self._note_stop()
        self._changed()

    def _changed(self) -> None:
        self._on_change(True)

    def close(self) -> None:
        """Free everything."""
        self._end_job()
        self._past.stop_seeking()
        self.timeline.close()
