"""What a soak saw: all that its judge and its report need, with times in seconds from the beginning of the load."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.soak.streams import StreamLedger

#: After the route is back, clients still need this long to find their way.
GRACE_S = 10.0


@dataclass(frozen=True)
class Kill:
    """kill -9 at ``at_s``; ``start_s`` later the new process served."""

    at_s: float
    start_s: float


@dataclass(frozen=True)
class Sample:
    """One sample, about once a second. ``life`` counts the broker's processes; memory None while none runs."""

    at_s: float
    life: int
    own_mib: float | None
    resident_mib: float | None
    fds: int | None
    disk_mib: float
    lag: int
    acknowledged: int
    consumed: int


@dataclass(frozen=True)
class SendWindow:
    """How long the acknowledged sends of some seconds took."""

    at_s: float
    p50_ms: float
    p99_ms: float


@dataclass
class History:
    """The history of a soak run."""

    warm_up_s: float
    ledgers: list[StreamLedger]
    #: ``serve`` options that the run had, clients that could not be had, faults that could not be made.
    left_out: list[str] = field(default_factory=list)
    started_s: float = 0.0
    loaded_s: float = 0.0
    kills: list[Kill] = field(default_factory=list)
    disk_full: tuple[float, float] | None = None
    samples: list[Sample] = field(default_factory=list)
    sends: list[SendWindow] = field(default_factory=list)
    #: (second in which it was asked for, milliseconds), or (second in which it was known that none comes, None).
    page_answers: list[tuple[float, float | None]] = field(default_factory=list)
    page_updates: list[float] = field(default_factory=list)
    #: Why the run ended before its time; empty when it did not.
    broke: str = ""
    tracebacks: list[str] = field(default_factory=list)
    #: Clients that ended by themselves.
    ended_early: list[str] = field(default_factory=list)
    #: Off on a machine that does other work, too: how long an answer took says little there.
    judges_times: bool = True
    #: Connections of readers that never read which the broker cut.
    readers_cut: int = 0

    def is_outage(self, at_s: float) -> bool:
        """The broker is dead, starts, or was found again a moment ago."""
        outages = [(kill.at_s, kill.at_s + kill.start_s + GRACE_S) for kill in self.kills]
        return any(begin <= at_s <= end for begin, end in outages)

    def judged_lives(self, figure: str) -> list[list[tuple[float, float]]]:
        """Per process of the broker, after its warm-up and while there is load: (second, value) of a sample's field."""
        lives: dict[int, list[tuple[float, float]]] = {}
        begins = [0.0, *(kill.at_s + kill.start_s for kill in self.kills)]
        for sample in self.samples:
            value = getattr(sample, figure)
            if value is not None and begins[sample.life] + self.warm_up_s <= sample.at_s <= self.loaded_s:
                lives.setdefault(sample.life, []).append((sample.at_s, value))
        return list(lives.values())


def percentile(values: list[float], share: float) -> float:
    """The nearest-rank percentile; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
