"""The worlds of this process, their viewers, and the order in which they run. Used by the lab's thread only."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable

from app.lab.foundation.bounds import (
    CHECKPOINTS_MAX,
    UNWATCHED_CLOSE_S,
    UNWATCHED_PAUSE_S,
    WORLDS_MAX,
    WORLDS_PER_BROWSER,
)
from app.lab.foundation.refusal import LabRefused, refusal_of
from app.lab.session.audience import Audience, AudienceTransport
from app.lab.session.film import FilmJob
from app.lab.session.job_queue import JobQueue
from app.lab.session.requests import OpenRequest, read_control, read_open
from app.lab.session.session import WorldSession
from app.picture.session.messages import FoundRun
from engine.lab.run.recording import Recording, parse_link
from engine.lab.run.run import LabRun
from engine.lab.scenario.condition import Condition
from engine.lab.scenario.errors import LabError, RecordingRefused, ScenarioError, UnknownScenario
from engine.lab.scenario.scenario_files import load_scenario, scenario_names

log = logging.getLogger("glassmq.lab.host")

#: Seconds of one world's turn, and of all turns between two checks for handed-in work.
SLICE_S = 0.004
#: Seconds that the way back may take in one turn, because the user waits for the answer.
SEEK_SLICE_S = 0.15
#: Seconds that the lab rests when worlds play, and when there is nothing to do.
TICK_S = 0.01
IDLE_S = 1.0
#: Seconds of a slice that prepares checkpoints.
GROW_SLICE_S = 0.003
#: With more worlds at work than this, no checkpoints are prepared.
PREPARES_BESIDE = 2


class LabWorlds:
    """The worlds, by their owners and viewers. ``clock``: monotonic seconds."""

    def __init__(self, transport: AudienceTransport, clock: Callable[[], float]) -> None:
        self._transport = transport
        self._clock = clock
        self._browsers: dict[str, str] = {}
        self._joined: dict[str, WorldSession] = {}
        self.sessions: dict[str, WorldSession] = {}
        self._jobs = JobQueue()

    # ------------------------------------------------------------------------------ browsers

    def connect(self, viewer_id: str, browser: str) -> None:
        """Add a page of ``browser``; it has joined no world yet."""
        self._browsers[viewer_id] = browser

    def disconnect(self, viewer_id: str) -> None:
        """Remove a page; its world stays."""
        self._leave(viewer_id)
        self._browsers.pop(viewer_id, None)

    def handle(self, viewer_id: str, event: str, arguments: tuple[object, ...]) -> bool:
        """Carry out one event of a page; return False when the event means nothing."""
        if viewer_id not in self._browsers:
            return True
        try:
            return self._handle(viewer_id, event, arguments)
        except LabRefused as refusal:
            self._transport.send([viewer_id], "refused", refusal.as_json())
            return refusal.reason != "bad_request"

    def _handle(self, viewer_id: str, event: str, arguments: tuple[object, ...]) -> bool:
        session = self._joined.get(viewer_id)
        match event, arguments:
            case "acknowledge", ({"sequence": int() as sequence},) if not isinstance(sequence, bool):
                if session is not None:
                    session.audience.acknowledge(viewer_id, sequence)
            case "resync", () | ({},):
                if session is not None:
                    session.audience.resync(viewer_id)
            case "open", (dict() as request,):
                self._open(viewer_id, read_open(request))
            case "control", (dict() as request,):
                self._control(viewer_id, self._own_session(viewer_id, request.get("action") == "fork"), request)
            case "command", (dict() as request,):
                self._own_session(viewer_id).player.command(request)
            case _:
                return False
        return True

    def _own_session(self, viewer_id: str, is_fork: bool = False) -> WorldSession:
        session = self._joined.get(viewer_id)
        if session is None:
            raise LabRefused("not_open")
        browser = self._browsers[viewer_id]
        if session.owner != browser:
            if not is_fork:
                raise LabRefused("not_yours")
            session = self._fork_for(viewer_id, browser, session)
        session.touched = self._clock()
        return session

    def _control(self, viewer_id: str, session: WorldSession, request: object) -> None:
        now = self._clock()
        player = session.player
        plain = {
            "pause": player.pause,
            "step": player.step,
            "step-back": player.step_back,
            "restart": player.restart,
            "fork": player.fork,
        }
        action, given = read_control(request)
        match action:
            case "play":
                player.play(now, **given)
            case "step-actor":
                player.step_actor(**given)
            case "scrub":
                player.scrub(**given)
            case "stand-at":
                player.stand_at(**given)
            case "speed":
                player.set_speed(now=now, **given)
            case "publish":
                session.publish(**given)
            case "run-until":
                player.run_until(Condition(**given))
            case _:
                plain[action]()

    # ------------------------------------------------------------------------------ opening

    def _open(self, viewer_id: str, request: OpenRequest) -> None:
        browser = self._browsers[viewer_id]
        if request.world:
            session = self.session(request.world, browser)
        elif request.link:
            session = self._from_link(request, browser)
        else:
            session = self._of_scenario(request, browser)
            if request.asks and session.has_begun:
                age_s = round(self._clock() - session.begun)
                found: FoundRun = {"event": session.player.run.event_number, "age_s": age_s}
                self._transport.send([viewer_id], "found", found)
                return
        self._join(viewer_id, browser, session)

    def _of_scenario(self, request: OpenRequest, browser: str) -> WorldSession:
        """Return the browser's newest world of that scenario (and seed), or a new one."""
        if not request.fresh:
            for session in reversed(self.sessions.values()):
                fits = session.scenario == request.scenario and request.seed in (None, session.player.run.seed)
                if session.owner == browser and fits:
                    return session
        if request.scenario not in scenario_names():
            raise LabRefused("unknown_scenario", scenario=request.scenario, known=", ".join(scenario_names()))
        try:
            scenario = load_scenario(request.scenario)
        except ScenarioError as error:
            raise refusal_of(error, "scenario") from error
        return self._add(browser, LabRun(scenario, request.seed))

    def _from_link(self, request: OpenRequest, browser: str) -> WorldSession:
        """Return the browser's world that came from where the link leads (``exact``: is there), or one that is
        rebuilt.
        """
        link = request.link
        try:
            recording = parse_link(link)
        except (RecordingRefused, UnknownScenario, ScenarioError) as error:
            raise refusal_of(error, "link") from error
        for session in () if request.fresh else reversed(self.sessions.values()):
            if session.owner == browser and (
                session.player.recording() == recording if request.exact else session.leads_to(link)
            ):
                return session
        return self._rebuild(recording, browser, link)

    def import_run(self, recording: Recording, browser: str) -> WorldSession:
        """Return the run of an exported file as a world of ``browser``. Raises :class:`LabRefused`."""
        return self._rebuild(recording, browser)

    def _rebuild(self, recording: Recording, browser: str, link: str = "") -> WorldSession:
        try:
            run = LabRun(recording.scenario, recording.seed, recording.commands)
        except LabError as error:
            raise refusal_of(error, "link") from error
        session = self._add(browser, run)
        session.rebuild(recording, link)
        return session

    def _fork_for(self, viewer_id: str, browser: str, followed: WorldSession) -> WorldSession:
        """Return a new world of the viewer's own that begins at the viewed event of the one that it follows."""
        session = self._rebuild(followed.player.recording(), browser)
        self._join(viewer_id, browser, session)
        return session

    def _add(self, browser: str, run: LabRun) -> WorldSession:
        """Add a new world, making room where needed."""
        try:
            self._make_room([s for s in self.sessions.values() if s.owner == browser], WORLDS_PER_BROWSER)
            self._make_room(list(self.sessions.values()), WORLDS_MAX)
        except LabRefused:
            run.close()
            raise
        identity = secrets.token_urlsafe(9)
        session = WorldSession(identity, browser, run, Audience(self._transport, identity, browser), self._clock)
        self.sessions[identity] = session
        return session

    def _make_room(self, sessions: list[WorldSession], limit: int) -> None:
        if len(sessions) < limit:
            return
        unwatched = [session for session in sessions if session.audience.count == 0]
        if not unwatched:
            raise LabRefused("too_many_worlds", limit=limit)
        self.close_world(min(unwatched, key=lambda session: session.touched))

    def _join(self, viewer_id: str, browser: str, session: WorldSession) -> None:
        self._leave(viewer_id)
        now = self._clock()
        if not session.audience.count:
            session.player.wake(now)
        session.audience.add(viewer_id, browser, now)
        session.touched = now
        session.is_dirty = True
        self._joined[viewer_id] = session

    def _leave(self, viewer_id: str) -> None:
        session = self._joined.pop(viewer_id, None)
        if session is not None:
            session.audience.remove(viewer_id)
            session.touched = self._clock()
            session.is_dirty = True

    # ------------------------------------------------------------------------------ routes

    def session(self, world: str, browser: str | None) -> WorldSession:
        """Return the world of that id, if ``browser`` may see it. Raises :class:`LabRefused`."""
        session = self.sessions.get(world)
        if session is None or (session.owner != browser and not session.is_published):
            raise LabRefused("no_world")
        return session

    def start_job(self, browser: str | None, make: Callable[[], FilmJob]) -> None:
        """Start the job that ``make`` makes: a film of a run, or something as long. Raises :class:`LabRefused`."""
        self._jobs.start(browser, make)

    def add_film(self, film: FilmJob) -> None:
        """Make a film for everyone, whatever else is being filmed."""
        self._jobs.add(None, film)

    # ------------------------------------------------------------------------------ turns

    def turn(self) -> float:
        """Give every world with work a slice; return the seconds that may pass before the next turn."""
        for session in list(self.sessions.values()):
            now = self._clock()
            try:
                self._serve(session, now)
            except Exception:
                log.exception("a lab world failed; it is closed")
                self._fail(session)
        self._end_unwatched()
        if self._jobs:
            deadline = self._clock() + SLICE_S
            self._jobs.advance(lambda: self._clock() >= deadline)
            return 0.0
        if any(session.player.has_job for session in self.sessions.values()):
            return 0.0
        playing = sum(map(_is_at_work, self.sessions.values()))
        if playing <= PREPARES_BESIDE and self._prepare_copies():
            return 0.0
        return TICK_S if playing else self._next_rest()

    def _serve(self, session: WorldSession, now: float) -> None:
        if _is_at_work(session):
            deadline = now + (SEEK_SLICE_S if session.player.is_seeking else SLICE_S)
            session.player.advance(now, lambda: self._clock() >= deadline)
        if session.frame_is_due(now):
            session.send_frame(now)

    def _prepare_copies(self) -> bool:
        """Use idle time to prepare checkpoints; return False when nothing is left to prepare."""
        if sum(session.player.timeline.copies for session in self.sessions.values()) >= CHECKPOINTS_MAX:
            return False
        deadline = self._clock() + GROW_SLICE_S
        for session in reversed(self.sessions.values()):
            if session.audience.count and session.player.timeline.grow(lambda: self._clock() >= deadline):
                return True
        return False

    def _next_rest(self) -> float:
        dirty = any(session.is_dirty for session in self.sessions.values() if session.audience.count)
        return TICK_S if dirty else IDLE_S

    def _end_unwatched(self) -> None:
        """End the play of worlds that have had no viewers for a while, and free them after a longer one."""
        now = self._clock()
        for session in list(self.sessions.values()):
            if session.audience.count:
                session.touched = max(session.touched, now - UNWATCHED_CLOSE_S / 2)
                continue
            if now - session.touched > UNWATCHED_PAUSE_S:
                session.player.rest()
            if now - session.touched > UNWATCHED_CLOSE_S:
                self.close_world(session)

    def _fail(self, session: WorldSession) -> None:
        """Report that the world cannot continue, and free it."""
        refusal = LabRefused("internal")
        viewers = session.audience.viewer_ids()
        if viewers:
            self._transport.send(viewers, "refused", refusal.as_json())
        self.close_world(session)

    def close_world(self, session: WorldSession) -> None:
        """Free the world; its link rebuilds it."""
        self.sessions.pop(session.identity, None)
        for viewer_id in session.audience.viewer_ids():
            self._joined.pop(viewer_id, None)
        session.player.close()

    def close(self) -> None:
        """Free all worlds."""
        for session in list(self.sessions.values()):
            self.close_world(session)
        self._jobs.close()


def _is_at_work(session: WorldSession) -> bool:
    """Return whether the world needs slices of time: it plays for a viewer, or has a job."""
    return session.player.has_job or (session.player.playing and session.audience.count > 0)
