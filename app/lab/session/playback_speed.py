"""The pace of a world at speed "auto": how fast virtual time passes, by what is about to happen.

Slow while a frame that matters is in flight or a listener has just been called, fast where nothing happens; things seen
several times go by faster than new ones. A stretch is the virtual time from now to the next thing that matters, with
the real time that it should take: a function of the world, so that a world plays the same each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engine.lab.narration.relevance import LIGHT_REQUESTS, frames_in_flight, is_task_relevant

if TYPE_CHECKING:
    from app.picture.world.playing import TimeAhead
    from engine.lab.run.run import LabRun
    from engine.lab.witness.frame_log import SentParcel

#: Seconds that a flight lasts: of a frame that is seen for the first time, and of one that matters less.
FLIGHT_S = 0.8
LIGHT_FLIGHT_S = 0.3
#: Seconds that a listener that has just been called is shown before the next event.
LISTENER_S = 1.2
#: Seconds that a gap in which nothing happens takes.
GAP_S = 0.4
#: The share of the first flight's time that later ones of the same kind take at least, and the number of seen ones
#: after which they take even less.
LEAST_SHARE = 0.25
MANY = 40
#: How much each flight that was seen speeds up the next one.
_WEARS = 0.4
#: Timers that are examined to find the next one that matters.
_TIMERS_LOOKED_AT = 60


class Flight(NamedTuple):
    """A frame in flight that matters. ``seen``: flights of its kind that were seen before."""

    sent_us: int
    arrives_us: int
    is_light: bool
    seen: int


@dataclass(frozen=True, slots=True)
class PlaybackMoment:
    """The facts about one moment of a world that decide the playback speed.

    :ivar flights: frames in flight that matter, the next to arrive first.
    :ivar next_us: when the next task that matters runs; the world's end when no such task is due.
    :ivar calls: listener calls that began before; None when none has begun since the last stretch.
    :ivar idle: number of stretches in which nothing happened.
    """

    now_us: int
    next_us: int
    flights: Sequence[Flight] = ()
    calls: int | None = None
    idle: int = 0


class SpeedStretch(NamedTuple):
    """The virtual time up to which a stretch goes, how long it takes to watch, and why: ``frame``, ``listener`` or
    ``gap``.
    """

    until_us: int
    play_s: float
    why: str


def stretch_of(moment: PlaybackMoment) -> SpeedStretch:
    """Return the stretch to the next thing that matters."""
    now_us = moment.now_us
    if moment.flights:
        until_us = moment.flights[0].arrives_us
        # The slowest of the frames in flight sets the pace.
        per_us = max(_flight_s(flight) / max(1, flight.arrives_us - flight.sent_us) for flight in moment.flights)
        return SpeedStretch(until_us, (until_us - now_us) * per_us, "frame")
    gap_us = max(0, moment.next_us - now_us)
    gap_s = min(gap_us / 1_000_000, GAP_S / (1 + moment.idle))
    if moment.calls is not None and gap_us > 0:
        return SpeedStretch(moment.next_us, max(gap_s, LISTENER_S * _share(moment.calls)), "listener")
    return SpeedStretch(moment.next_us, gap_s, "gap")


def rate_of(stretch: SpeedStretch, now_us: int) -> float | None:
    """Return virtual seconds per second in ``stretch``, which begins now; None when it is over immediately."""
    length_us = stretch.until_us - now_us
    return length_us / 1_000_000 / stretch.play_s if length_us > 0 and stretch.play_s > 0 else None


def _flight_s(flight: Flight) -> float:
    return (LIGHT_FLIGHT_S if flight.is_light else FLIGHT_S) * _share(flight.seen)


def _share(seen: int) -> float:
    return max(LEAST_SHARE, 1 / (1 + _WEARS * seen)) * min(1.0, MANY / max(1, seen))


class PlaybackSpeed:
    """Watches one run from the moment of its creation: everything that it sees from then on is new to it."""

    def __init__(self, run: LabRun) -> None:
        self.turn_to(run)
        #: The name of a frame, and the name with its source and target -> number of flights.
        self._seen: Counter[tuple[str, ...]] = Counter()
        #: Number of a frame -> flights of its kind before it.
        self._flights: dict[int, int] = {}
        self._calls = len(run.world.history.consumes_began)
        self._first_call = self._calls
        self._idle = 0
        self._signs = self.signs()

    def turn_to(self, run: LabRun) -> None:
        """Watch another copy of the same run from now on."""
        self._run = run

    def signs(self) -> tuple[int, ...]:
        """Return values that change when something that matters happens."""
        history = self._run.world.history
        return (self._run.world.witness.frames.frame_count, len(history.consumes_began), len(history.consumes_ended))

    def stretch(self) -> SpeedStretch:
        """Return the next span of virtual time that is played at one speed."""
        return stretch_of(self._moment())

    def _moment(self) -> PlaybackMoment:
        run = self._run
        flying: dict[int, int] = {}
        flights: list[Flight] = []
        for frame, name in frames_in_flight(run.world):
            if frame.number not in self._flights:
                self._flights[frame.number] = self._note(frame, name)
            seen = flying[frame.number] = self._flights[frame.number]
            flights.append(Flight(frame.time_us, frame.arrives_us, name in LIGHT_REQUESTS, seen))
        self._flights = flying
        calls = len(run.world.history.consumes_began)
        signs = self.signs()
        self._idle = self._idle + 1 if signs == self._signs and not flights else 0
        moment = PlaybackMoment(
            run.now_us,
            next_relevant_us(run),
            flights,
            self._calls - self._first_call if calls > self._calls else None,
            self._idle,
        )
        # A call that begins while frames are in flight is shown after they have arrived.
        if not flights:
            self._calls = calls
        self._signs = signs
        return moment

    def _note(self, frame: SentParcel, name: str) -> int:
        """Return how many frames of its kind were seen before; between other nodes it counts as partly new."""
        said = self._run.world.witness.frames.reading(frame)
        kind = (name, "reply" if said is not None and not said.name else "")
        between = (*kind, frame.source, frame.target)
        seen = max(self._seen[between], self._seen[kind] // 3)
        self._seen.update((kind, between))
        return seen


def next_relevant_us(run: LabRun) -> int:
    """Return when the next task runs that is not housekeeping; the end of the world without one."""
    schedule = run.world.loop.schedule
    if any(not event.is_cancelled and not event.actor.blocked for event in schedule.ready):
        return run.now_us
    for event in schedule.next_timers(_TIMERS_LOOKED_AT):
        if is_task_relevant(event.actor.name) and not event.actor.blocked:
            return min(event.due_us, run.world.end_us)
    return run.world.end_us


class MovedWorldSpeed:
    """The pace for a world that the page moves, as one of two side by side, from where it is."""

    def __init__(self) -> None:
        self._playback_speed: PlaybackSpeed | None = None
        self._signs: tuple[int, ...] = ()
        self._now_us = 0
        self._stretch = SpeedStretch(0, 0, "")
        self._rate = 1.0

    def ahead(self, run: LabRun) -> TimeAhead:
        """Return how time passes in the stretch that ``run`` is in."""
        if self._playback_speed is None or run.now_us < self._now_us:
            self._playback_speed, self._stretch, self._rate = PlaybackSpeed(run), SpeedStretch(0, 0, ""), 1.0
        playback_speed, self._now_us = self._playback_speed, run.now_us
        playback_speed.turn_to(run)
        if run.now_us >= self._stretch.until_us or playback_speed.signs() != self._signs:
            self._stretch, self._signs = playback_speed.stretch(), playback_speed.signs()
            self._rate = rate_of(self._stretch, run.now_us) or self._rate
        return {"until_us": self._stretch.until_us, "rate": float(f"{self._rate:.3g}"), "why": self._stretch.why}
