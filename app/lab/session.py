"""One world as its owner plays with it: its pace, where in time one looks, and what is still to be done for that.

Nothing here blocks for long: what may take many events (rebuilding from a link, "run until", a long way back) is a job
that goes on in slices. Used by the lab's thread only.
"""

from __future__ import annotations

from collections.abc import Callable

from app.json_types import JsonObject
from app.lab.audience import Audience
from app.lab.bounds import FRAMES_PER_SECOND, SPEED_MAX, SPEED_MIN
from app.lab.jobs import Job, Rebuild, RunUntil, StepActor
from app.lab.refusal import LabRefused
from app.lab.timeline import EVENTS_PER_LOOK, Seek, Timeline
from app.lab.world_view import violation_view
from engine.lab.checkers.violation import Violation
from engine.lab.command import Command, parse_command
from engine.lab.condition import Condition
from engine.lab.errors import LabError, RunLimitReached
from engine.lab.recording import EVENTS_MAX, Recording, link_of
from engine.lab.run import LabRun

#: A world that cannot keep its pace falls behind by so much of real time at most; then its clock is set anew.
LAG_MAX_S = 0.25
#: After so long without a further wish the hand that drags through the past counts as resting.
HAND_RESTS_S = 0.12
#: How often the link of a playing world is made anew.
LINK_INTERVAL_S = 1.0
#: Earlier links of a world that its owner may come back with.
LINKS_KEPT = 50
#: Shortest time between two views of a playing world.
_FRAME_S = 1 / FRAMES_PER_SECOND


class WorldSession:
    """See the module.

    :param identity: the world's id, in addresses.
    :param owner: the browser that may control it.
    :ivar touched: when somebody did or watched something last, seconds.
    """

    def __init__(self, identity: str, owner: str, run: LabRun, audience: Audience, clock: Callable[[], float]) -> None:
        self.identity = identity
        self.owner = owner
        self.audience = audience
        self._clock = clock
        self.touched = clock()
        self.is_published = False
        self.speed = 1.0
        self.playing = False
        self.timeline = Timeline(run)
        #: The virtual time that belongs to a moment of real time, while it plays.
        self._anchor = (0.0, 0)
        self._seek: Seek | None = None
        #: The event that is wanted, and from when on the way there may begin.
        self._wish: tuple[int, float] | None = None
        self._scrubbed_at = -HAND_RESTS_S
        self._job: Job | None = None
        #: The view that is shown instead of the head's; read-only.
        self._past_view: JsonObject | None = None
        self._stopped_by: JsonObject | None = None
        self._forked_from: str | None = None
        self._link = ("", (-1, -1, -1), -LINK_INTERVAL_S)
        #: Links that led here: a page that reloads finds its world by the one in its address.
        self._links: dict[str, None] = {}
        #: Something may have changed that the viewers do not know.
        self.is_dirty = True
        #: Whether the change comes from a person, who waits for it.
        self.is_urgent = True
        self._next_frame = 0.0

    @property
    def run(self) -> LabRun:
        """The run as far as it has come."""
        return self.timeline.run

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return self.run.scenario.name

    @property
    def in_past(self) -> bool:
        """Whether one looks at an earlier event."""
        return self._past_view is not None

    @property
    def has_work(self) -> bool:
        """Whether slices are wanted: it plays, or has a job."""
        return self.playing or self.has_job

    # ------------------------------------------------------------------------------ controls

    def play(self, now: float) -> None:
        """Let time pass, at ``speed``. In the past: from there, as a fork."""
        self._leave_past()
        self._require_future()
        self.playing = True
        self._stopped_by = None
        self.run.stops_at_violations = self.run.stops_at_breakpoints = True
        self._anchor = (now, self.run.now_us)
        self._changed()

    def pause(self) -> None:
        """Stop; also ends a job."""
        self.playing = False
        if self._job is not None and not isinstance(self._job, Rebuild):
            self._job = None
        self._changed()

    def rest(self) -> None:
        """Nobody watches: stop, and give back what only makes going back quick."""
        if self.playing:
            self.pause()
        if not self.in_past and not self.has_job and self.timeline.copies:
            self.timeline.free_copies()

    def step(self) -> None:
        """One event. In the past: one event of what is recorded."""
        self.pause()
        if self._past_view is not None:
            self.scrub(self._past_view["event"] + 1)
            return
        self._require_future()
        self._guarded(self.run.step)

    def step_back(self) -> None:
        """Look at the world before the last event."""
        self.pause()
        shown = self._past_view["event"] if self._past_view is not None else self.run.event_number
        if self._wish is not None:
            shown = self._wish[0]
        if shown > 0:
            self.scrub(shown - 1)

    def scrub(self, event: int) -> None:
        """Look at the world as it was after ``event``. Raises :class:`LabRefused`."""
        self._require_ready()
        self.playing = False
        end = self.run.event_number
        if event > end:
            raise LabRefused("nothing_recorded", event=event, maximum=end)
        self._drop_seek()
        if event == end:
            self._past_view = None
        else:
            near = self.timeline.kept_view(event) or self.timeline.near_view(event)
            if near is not None:
                self._past_view = near
            if near is None or near["event"] != event:
                # While somebody drags, a view nearby is shown at once, and the right one as soon as the hand rests.
                now = self._clock()
                drags = near is not None and now - self._scrubbed_at < 2 * HAND_RESTS_S
                self._wish = (event, now + HAND_RESTS_S if drags else now)
                self._scrubbed_at = now
        self._changed()

    def step_actor(self, actor: str) -> None:
        """Run until ``actor`` has run one event. Raises :class:`LabRefused`."""
        if not self.in_past and all(known.name != actor for known in self.run.world.lab.actors()):
            raise LabRefused("unknown_actor", actor=actor[:80])
        self._start_job(StepActor(actor))

    def run_until(self, condition: Condition) -> None:
        """Run as fast as it goes until ``condition`` is met."""
        self._start_job(RunUntil(condition))

    def set_speed(self, speed: float, now: float) -> None:
        """Virtual seconds per second. Raises :class:`LabRefused`."""
        if not SPEED_MIN <= speed <= SPEED_MAX:
            raise LabRefused("number", field="speed", minimum=SPEED_MIN, maximum=SPEED_MAX)
        self.speed = float(speed)
        self._anchor = (now, self.run.now_us)
        self._changed()

    def restart(self) -> None:
        """The same scenario and seed from the beginning, without commands."""
        self.pause()
        self._drop_seek()
        self._job = None
        self._past_view = self._stopped_by = None
        self._forked_from = self._make_link()
        self.timeline.replace(LabRun(self.run.scenario, self.run.seed))
        self.audience.forget_journal(0)
        self._changed()

    def fork(self) -> None:
        """Go on from the event that is looked at: what came after it is forgotten."""
        self.pause()
        self._leave_past()

    def command(self, data: object) -> None:
        """Do something to the world. Raises :class:`LabRefused`."""
        self._require_ready()
        try:
            command = parse_command(data)
            self._leave_past()
            if command.kind == "setting":
                self._change_setting(command)
            else:
                self.run.apply(command)
        except LabError as error:
            raise refusal_of(error) from error
        self._stopped_by = None
        self._changed()

    def publish(self, on: bool) -> None:
        """Whether others may follow."""
        self.is_published = on
        self._changed()

    def rebuild(self, recording: Recording, link: str = "") -> None:
        """Run the events of a recording, in slices. ``link``: where it came from."""
        self._job = Rebuild(recording)
        if link:
            self._links[link] = None
        self._changed()

    def leads_to(self, link: str) -> bool:
        """Whether this world is what ``link`` describes: it was built from it, or stands there."""
        return link in self._links

    def recording(self) -> Recording:
        """How to build the world again as it is looked at."""
        run = self.run
        if self._past_view is None:
            event, time_us = run.event_number, run.now_us
        else:
            event, time_us = self._past_view["event"], self._past_view["time_us"]
        commands = tuple(timed for timed in run.commands if timed.event <= event)
        return Recording(run.scenario, run.seed, commands, event, time_us)

    def export(self) -> JsonObject:
        """The run as one small JSON object."""
        return self.run.export()

    def frame_detail(self, number: int) -> JsonObject | None:
        """Everything about one frame, as far as it is kept."""
        shown = self._past_view["event"] if self._past_view is not None else self.run.event_number
        return self.timeline.frames(shown).detail(number)

    @property
    def has_job(self) -> bool:
        """Whether it has something to do as fast as it goes."""
        return self._job is not None or self.is_seeking

    @property
    def is_seeking(self) -> bool:
        """Whether it is on the way to an event of the past."""
        return self._seek is not None or self._wish is not None

    # ------------------------------------------------------------------------------ slices

    def advance(self, now: float, until: Callable[[], bool]) -> None:
        """Work until ``until()``."""
        try:
            if self._wish is not None and now >= self._wish[1]:
                self._seek = self.timeline.begin_seek(self._wish[0])
                self._wish = None
            if self._seek is not None:
                self._advance_seek(until)
            elif self._job is not None:
                self._advance_job(until)
            elif self.playing:
                self._advance_play(now, until)
        except LabError as error:
            self.playing = False
            self._job = None
            kind = "limit" if isinstance(error, RunLimitReached) else "failure"
            self._stopped_by = {"kind": kind, "text": refusal_of(error).text}
            self._changed()

    def _advance_seek(self, until: Callable[[], bool]) -> None:
        seek = self._seek
        assert seek is not None
        view = seek.advance(until)
        if view is not None:
            self.timeline.end_seek(seek)
            self._seek = None
            self._past_view = view
            self._changed()

    def _advance_job(self, until: Callable[[], bool]) -> None:
        assert self._job is not None
        if self._job.advance(self.run, until):
            self._job = None
            self._note_stop()
            self.is_urgent = True
        self.is_dirty = True

    def _advance_play(self, now: float, until: Callable[[], bool]) -> None:
        started, begun_us = self._anchor
        target_us = begun_us + round((now - started) * self.speed * 1_000_000)
        run = self.run
        while run.run_to_time(target_us, EVENTS_PER_LOOK) == EVENTS_PER_LOOK and run.stopped_by is None:
            if until():
                break
        behind_us = target_us - run.now_us
        if behind_us > LAG_MAX_S * self.speed * 1_000_000:
            self._anchor = (now, run.now_us)
        self.is_dirty = True
        if run.stopped_by is not None or run.is_over:
            self.playing = False
            self._note_stop()
            self._changed()

    def _note_stop(self) -> None:
        """Say why the run did not go on."""
        stopped_by = self.run.stopped_by
        if isinstance(stopped_by, Violation):
            self._stopped_by = {"kind": "violation", **violation_view(stopped_by)}
        elif isinstance(stopped_by, Condition):
            text = " ".join(part for part in (stopped_by.on.value, stopped_by.node, stopped_by.contains) if part)
            self._stopped_by = {"kind": "breakpoint", "text": {"en": text, "zh": text}}
        elif self.run.is_over:
            self._stopped_by = {"kind": "over", "text": LabRefused("over").text}

    # ------------------------------------------------------------------------------ the picture

    def frame_is_due(self, now: float) -> bool:
        """Whether viewers should get a view now."""
        if self.audience.wants_snapshot:
            return True
        return self.is_dirty and (self.is_urgent or now >= self._next_frame)

    def send_frame(self, now: float) -> None:
        """Build the view and send it to whoever watches."""
        self.is_dirty = self.is_urgent = False
        self._next_frame = now + _FRAME_S
        if self.audience.count:
            self.audience.publish(self.view(now), self.timeline.head)

    def view(self, now: float) -> JsonObject:
        """The world as it is looked at, and how it is played."""
        run = self.run
        shown = self._past_view if self._past_view is not None else self.timeline.head.build()
        job = self._job
        return {
            **shown,
            "world": {"id": self.identity, "published": self.is_published, "viewers": self.audience.count},
            "events_total": run.event_number,
            "time_total_us": run.now_us,
            "playing": self.playing,
            "speed": self.speed,
            "in_past": self.in_past,
            "busy": job.as_json(run) if job is not None else self._seek_json(),
            "stopped_by": None if self.in_past else self._stopped_by,
            "link": self._current_link(now),
            "forked_from": self._forked_from,
        }

    def _seek_json(self) -> JsonObject | None:
        if self._seek is None:
            return None
        return {"kind": "scrub", "event": self._seek.copy.event, "target": self._seek.event}

    def _current_link(self, now: float) -> str:
        """While it plays the link follows once a second: it changes with every event."""
        text, made_from, made_at = self._link
        place = (self.run.event_number, self.run.now_us, len(self.run.commands))
        if made_from == place and text:
            return text
        if text and self.has_work and now - made_at < LINK_INTERVAL_S:
            return text
        self._link = (self._make_link(), place, now)
        self._links[self._link[0]] = None
        if len(self._links) > LINKS_KEPT:
            del self._links[next(iter(self._links))]
        return self._link[0]

    def _make_link(self) -> str:
        return link_of(self.run)

    # ------------------------------------------------------------------------------ inside

    def _start_job(self, job: Job) -> None:
        self._require_ready()
        self.pause()
        self._leave_past()
        self._require_future()
        self.run.stops_at_violations = True
        self.run.stops_at_breakpoints = False
        self._stopped_by = None
        self._job = job
        self._changed()

    def _change_setting(self, command: Command) -> None:
        """Another timer or size from the beginning on: a run of its own, brought to the same virtual time."""
        self._forked_from = self._make_link()
        changed = self.run.fork_with(command)
        self.timeline.replace(changed)
        self.audience.forget_journal(0)

    def _leave_past(self) -> None:
        """What is looked at becomes the present; what came after it is forgotten."""
        if self._past_view is None:
            return
        event = self._past_view["event"] if self._wish is None else self._wish[0]
        self._drop_seek()
        self._forked_from = self._make_link()
        self._past_view = None
        self._stopped_by = None
        self.timeline.fork(event)
        self.audience.forget_journal(event)
        self._changed()

    def _drop_seek(self) -> None:
        self._wish = None
        seek, self._seek = self._seek, None
        if seek is not None:
            self.timeline.end_seek(seek)

    def _require_ready(self) -> None:
        if isinstance(self._job, Rebuild):
            raise LabRefused("server_busy")

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
        self.is_dirty = self.is_urgent = True

    def close(self) -> None:
        """Free everything."""
        self._drop_seek()
        self.timeline.close()


def refusal_of(error: LabError) -> LabRefused:
    """A refusal that says what the engine's lab says."""
    if isinstance(error, RunLimitReached):
        return LabRefused("event_limit", limit=EVENTS_MAX)
    return LabRefused("command", problem=str(error))
