"""The pace of a world: which virtual time corresponds to a moment of real time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from app.lab.session.playback_speed import PlaybackSpeed, rate_of
from app.lab.session.timeline import EVENTS_PER_LOOK
from engine.lab.run.run import LabRun

#: Real time by which a world that cannot keep its pace may lag; at a larger lag its clock is set again.
LAG_MAX_S = 0.25
#: Events before the target of "slow to" that are shown one by one, and the seconds that each takes.
SLOW_EVENTS = 10
STEP_S = 0.9
#: The speed "auto", see :mod:`app.lab.session.playback_speed`.
AUTO: Literal["auto"] = "auto"


class Pace:
    """The relation of virtual to real time.

    :ivar speed: virtual seconds per second, or :data:`AUTO`.
    :ivar why: at speed "auto", the reason for the current rate (:class:`.SpeedStretch`); empty for a
        fixed speed.
    """

    def __init__(self) -> None:
        self.speed: float | Literal["auto"] = AUTO
        self.why = ""
        #: Virtual seconds per second now.
        self.rate = 1.0
        self._anchor = (0.0, 0)
        self._playback_speed: PlaybackSpeed | None = None
        self._until_us = 0
        self._slow_to = 0
        self._next_step = 0.0

    def set_speed(self, speed: float | Literal["auto"]) -> None:
        """Set the speed from the next ``begin`` on."""
        self.speed = speed
        self.why = ""
        if speed != AUTO:
            self.rate = speed

    def begin(self, now: float, virtual_us: int, slow_to: int = 0) -> None:
        """Continue the world from ``virtual_us`` now. At speed "auto" everything counts as new.

        :param slow_to: the number of an event before which the last ones are shown one by one; 0 means none.
        """
        self._anchor = (now, virtual_us)
        self._playback_speed = None
        self._slow_to = slow_to
        self._next_step = 0.0

    def look_anew(self) -> None:
        """Note that the world is another one: what was seen before is new again."""
        self._playback_speed = None

    def due_us(self, now: float) -> int:
        """Return the virtual time up to which the world should have run by now."""
        started, begun_us = self._anchor
        return begun_us + round((now - started) * self.rate * 1_000_000)

    def note(self, now: float, virtual_us: int) -> None:
        """Note that the world has run to ``virtual_us``. A lag above the limit is given up."""
        if self.due_us(now) - virtual_us > LAG_MAX_S * self.rate * 1_000_000:
            self._anchor = (now, virtual_us)

    def advance(self, run: LabRun, now: float, until: Callable[[], bool]) -> None:
        """Let ``run`` continue to where it should be by now, or as far as it comes before ``until()`` is true."""
        if self._is_slow(run):
            self._step(run, now)
            return
        if self.speed == AUTO:
            self._follow(run, now, until)
            return
        target_us = self.due_us(now)
        while not self._is_slow(run):
            most = 1 if self._slow_to else EVENTS_PER_LOOK
            if run.run_to_time(target_us, most) < most or run.stopped_by is not None or until():
                break
        self.note(now, run.now_us)

    def _follow(self, run: LabRun, now: float, until: Callable[[], bool]) -> None:
        """Advance stretch by stretch; a new one begins where something that matters happens."""
        playback_speed = self._playback_speed
        if playback_speed is None:
            playback_speed = self._playback_speed = PlaybackSpeed(run)
            self._begin_stretch(playback_speed, run, now)
        signs = playback_speed.signs()
        ran = turns = 0
        while not run.is_over and not self._is_slow(run):
            target_us = min(self._until_us, self.due_us(now))
            is_event = run.run_to_time(target_us, 1) == 1
            if run.stopped_by is not None:
                break
            is_end = not is_event and target_us == self._until_us
            if is_end or (is_event and playback_speed.signs() != signs):
                self._begin_stretch(playback_speed, run, now)
                signs = playback_speed.signs()
                turns += 1
            elif not is_event:
                break
            ran += 1
            if turns > EVENTS_PER_LOOK or (ran % EVENTS_PER_LOOK == 0 and until()):
                break
        self.note(now, run.now_us)

    def _is_slow(self, run: LabRun) -> bool:
        return 0 <= self._slow_to - 1 - run.event_number < SLOW_EVENTS

    def _step(self, run: LabRun, now: float) -> None:
        """Run one event, when the last one has been shown long enough."""
        if now >= self._next_step:
            run.run_events(1)
            self.why = "step"
            self._next_step = now + STEP_S
        self._anchor = (now, run.now_us)

    def _begin_stretch(self, playback_speed: PlaybackSpeed, run: LabRun, now: float) -> None:
        """Begin a stretch at the moment at which the world should have been where it is; that is not later than now."""
        started, begun_us = self._anchor
        reached = started + (run.now_us - begun_us) / 1_000_000 / self.rate
        self._anchor = (min(now, max(reached, now - LAG_MAX_S)), run.now_us)
        stretch = playback_speed.stretch()
        self._until_us, self.why = stretch.until_us, stretch.why
        self.rate = rate_of(stretch, run.now_us) or self.rate
