"""Time that follows the eye: how quickly a world should pass, by what is about to happen in it.

Slow while a frame that matters flies or a listener has just been called, quick where nothing happens; what one has seen
several times goes by faster than what is new. A stretch is the virtual time from now to the next thing that matters,
with the real time that it should take: a function of the world, so that a world plays alike each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from app.foundation.json_types import JsonObject
from engine.lab.narration.what_matters import task_matters

if TYPE_CHECKING:
    from engine.lab.narration.narrator import Narrator
    from engine.lab.narration.sent_frames import SentFrame
    from engine.lab.run.run import LabRun

#: How long a flight lasts, in seconds: of a frame that is seen for the first time, and of one that matters less.
FLIGHT_S = 0.8
LIGHT_FLIGHT_S = 0.3
#: How long one looks at a listener that has just been called, before what comes next.
LISTENER_S = 1.2
#: A gap in which nothing happens.
GAP_S = 0.4
#: Of the time for the first of its kind, the others take a smaller part the more of them were seen: down to this one,
#: and when so many were seen to less still.
LEAST_SHARE = 0.25
MANY = 40
#: By how much each that was seen makes the next one quicker.
_WEARS = 0.4
#: Timers that are looked at to find the next one that matters.
_TIMERS_LOOKED_AT = 60


class Flight(NamedTuple):
    """A frame that matters, on its way. ``seen``: how many of its kind were seen to fly before."""

    sent_us: int
    arrives_us: int
    is_light: bool
    seen: int


@dataclass(frozen=True, slots=True)
class Moment:
    """What is to be known of a world to say how quickly it should pass.

    :ivar flights: frames that matter and are on their way, the next to arrive first.
    :ivar next_us: when the next task that matters runs; the world's end if none does.
    :ivar calls: listener calls that began before: None when none has begun since the last stretch.
    :ivar idle: how many stretches went by in which nothing happened.
    """

    now_us: int
    next_us: int
    flights: Sequence[Flight] = ()
    calls: int | None = None
    idle: int = 0


class Stretch(NamedTuple):
    """Up to which virtual time, how long that takes to watch, and why: ``frame``, ``listener`` or ``gap``."""

    until_us: int
    play_s: float
    why: str


def stretch_of(moment: Moment) -> Stretch:
    """How to pass the time to the next thing that matters."""
    now_us = moment.now_us
    if moment.flights:
        until_us = moment.flights[0].arrives_us
        # The slowest of those that fly together says how slow.
        per_us = max(_flight_s(flight) / max(1, flight.arrives_us - flight.sent_us) for flight in moment.flights)
        return Stretch(until_us, (until_us - now_us) * per_us, "frame")
    gap_us = max(0, moment.next_us - now_us)
    gap_s = min(gap_us / 1_000_000, GAP_S / (1 + moment.idle))
    if moment.calls is not None and gap_us > 0:
        return Stretch(moment.next_us, max(gap_s, LISTENER_S * _share(moment.calls)), "listener")
    return Stretch(moment.next_us, gap_s, "gap")


def rate_of(stretch: Stretch, now_us: int) -> float | None:
    """Virtual seconds per second in ``stretch``, which begins now; None: it is over at once."""
    length_us = stretch.until_us - now_us
    return length_us / 1_000_000 / stretch.play_s if length_us > 0 and stretch.play_s > 0 else None


def _flight_s(flight: Flight) -> float:
    return (LIGHT_FLIGHT_S if flight.is_light else FLIGHT_S) * _share(flight.seen)


def _share(seen: int) -> float:
    return max(LEAST_SHARE, 1 / (1 + _WEARS * seen)) * min(1.0, MANY / max(1, seen))


class Eye:
    """Looks at one run from the moment on at which it is made: what it sees from then on is new to it."""

    def __init__(self, run: LabRun, narrator: Narrator) -> None:
        self.turn_to(run, narrator)
        #: What a frame is called, and the same with from where to where -> how many flew.
        self._seen: Counter[tuple[str, ...]] = Counter()
        #: Number of a frame -> how many of its kind flew before it.
        self._flights: dict[int, int] = {}
        self._calls = len(run.world.history.consumes_began)
        self._first_call = self._calls
        self._idle = 0
        self._signs = self.signs()

    def turn_to(self, run: LabRun, narrator: Narrator) -> None:
        """Look at another copy of the same run from now on."""
        self._run, self._narrator = run, narrator

    def signs(self) -> tuple[int, ...]:
        """Something that matters has happened when they change."""
        history = self._run.world.history
        return (self._narrator.frames.count, len(history.consumes_began), len(history.consumes_ended))

    def stretch(self) -> Stretch:
        """From now on."""
        return stretch_of(self._moment())

    def _moment(self) -> Moment:
        run, frames = self._run, self._narrator.frames
        flying: dict[int, int] = {}
        flights: list[Flight] = []
        for frame in frames.under_way(run.now_us):
            if frame.number not in self._flights:
                self._flights[frame.number] = self._note(frame)
            seen = flying[frame.number] = self._flights[frame.number]
            flights.append(Flight(frame.sent_us, frame.arrives_us, frames.is_light(frame), seen))
        self._flights = flying
        calls = len(run.world.history.consumes_began)
        signs = self.signs()
        self._idle = self._idle + 1 if signs == self._signs and not flights else 0
        moment = Moment(
            run.now_us,
            next_that_matters_us(run),
            flights,
            self._calls - self._first_call if calls > self._calls else None,
            self._idle,
        )
        # A call that begins while frames fly is looked at when they have arrived.
        if not flights:
            self._calls = calls
        self._signs = signs
        return moment

    def _note(self, frame: SentFrame) -> int:
        """How many of its kind were seen before; between other nodes it is partly new again."""
        is_reply = frame.reading is not None and not frame.reading.name
        kind = (self._narrator.frames.name_of(frame), "reply" if is_reply else "")
        between = (*kind, frame.parcel.source, frame.parcel.target)
        seen = max(self._seen[between], self._seen[kind] // 3)
        self._seen.update((kind, between))
        return seen


def next_that_matters_us(run: LabRun) -> int:
    """When the next task runs that is no housekeeping; the end of the world if none does."""
    schedule = run.world.loop.schedule
    if any(not event.is_cancelled and not event.actor.blocked for event in schedule.ready):
        return run.now_us
    for event in schedule.next_timers(_TIMERS_LOOKED_AT):
        if task_matters(event.actor.name) and not event.actor.blocked:
            return min(event.due_us, run.world.end_us)
    return run.world.end_us


class EyeOfMoved:
    """For a world that others move on, as one of two side by side: how its time should pass from where it stands."""

    def __init__(self) -> None:
        self._eye: Eye | None = None
        self._signs: tuple[int, ...] = ()
        self._now_us = 0
        self._stretch = Stretch(0, 0, "")
        self._rate = 1.0

    def ahead(self, run: LabRun, narrator: Narrator) -> JsonObject:
        """``until_us``, ``rate`` (virtual seconds per second up to then) and ``why``: see :class:`Stretch`."""
        if self._eye is None or run.now_us < self._now_us:
            self._eye, self._stretch, self._rate = Eye(run, narrator), Stretch(0, 0, ""), 1.0
        eye, self._now_us = self._eye, run.now_us
        eye.turn_to(run, narrator)
        if run.now_us >= self._stretch.until_us or eye.signs() != self._signs:
            self._stretch, self._signs = eye.stretch(), eye.signs()
            self._rate = rate_of(self._stretch, run.now_us) or self._rate
        return {"until_us": self._stretch.until_us, "rate": float(f"{self._rate:.3g}"), "why": self._stretch.why}
