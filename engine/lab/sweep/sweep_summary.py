"""Summary of many seeds, in a size that does not grow with them.

    summary = SweepSummary()
    summary.add(run_seed(scenario, 17))
    summary.merge(other)

Merging is associative and commutative, so it makes no difference which process or machine ran a seed, nor in what
portions: the same seeds give the same summary. It is transported and stored as JSON.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

from engine.lab.scenario.scenario import FaultKind
from engine.lab.sweep.sweep import SeedResult

#: Runs with violations that are kept in full, those with the lowest seeds.
KEPT_IN_FULL = 10
#: Seeds with violations that are kept by number.
KEPT_SEEDS = 1_000
#: Fingerprints are sums modulo this number.
_FINGERPRINT = 1 << 128


class KindCount(NamedTuple):
    """The number of runs with one kind of fault, and of those that violated an invariant.

    ``alone``: runs with no other kind of fault.
    """

    runs: int = 0
    bad: int = 0
    alone: int = 0
    alone_bad: int = 0

    def with_runs_of(self, other: KindCount) -> KindCount:
        """Return these counts with those of ``other`` added."""
        return KindCount(*map(operator.add, self, other))


@dataclass(frozen=True, slots=True)
class SweepCounterexample:
    """A run that violates an invariant, the shortest that was found.

    :ivar faults: the kinds of the faults that took effect, in the order of time.
    :ivar violation: the first of this invariant, as a JSON object.
    :ivar link: fragment that replays it.
    """

    seed: int
    faults: tuple[FaultKind, ...]
    violation: Mapping[str, Any]
    link: str

    @property
    def length(self) -> tuple[int, int, int]:
        """Return a key by which the simplest comes first: fewest faults, then fewest events, then by seed."""
        return len(self.faults), self.violation["event"], self.seed

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Decode from JSON."""
        faults = tuple(FaultKind(kind) for kind in fields["faults"])
        return cls(fields["seed"], faults, fields["violation"], fields["link"])


class Broken(NamedTuple):
    """One violated invariant: how many runs violated it, and the shortest of them."""

    runs: int
    shortest: SweepCounterexample

    def with_runs_of(self, other: Broken) -> Broken:
        """Return these counts with those of ``other`` added."""
        return Broken(self.runs + other.runs, min(self.shortest, other.shortest, key=lambda example: example.length))


@dataclass(slots=True)
class SweepSummary:
    """Summary of seeds.

    :ivar seeds: how many seeds were run.
    :ivar events, commands: how many there were in all of them.
    :ivar bad: how many violated something.
    :ivar bad_seeds: the lowest of those, at most :data:`KEPT_SEEDS`; ``reported``: the first of these runs, at most
        :data:`KEPT_IN_FULL`.
    :ivar unfinished: seed -> why it could not be run to its end, at most :data:`KEPT_IN_FULL`; ``unfinished_count`` of
        them in all. They count as seeds, but not as violations.
    :ivar kinds: by kind of fault; a run with two kinds counts for both.
    :ivar findings: by invariant.
    :ivar fingerprint: hash over the journals of all runs: equal when the same seeds did the same.
    """

    seeds: int = 0
    events: int = 0
    commands: int = 0
    bad: int = 0
    bad_seeds: list[int] = field(default_factory=list)
    reported: list[SeedResult] = field(default_factory=list)
    unfinished: dict[int, str] = field(default_factory=dict)
    unfinished_count: int = 0
    kinds: dict[FaultKind, KindCount] = field(default_factory=dict)
    findings: dict[str, Broken] = field(default_factory=dict)
    fingerprint: int = 0

    @classmethod
    def of(cls, result: SeedResult) -> Self:
        """Return the summary of one run."""
        is_bad, kinds = bool(result.violations), dict.fromkeys(result.fault_kinds)
        is_alone = len(kinds) == 1
        # A checker may report several violations of one run, which counts once.
        firsts: dict[str, Mapping[str, Any]] = {}
        for violation in result.violations:
            firsts.setdefault(violation["checker"], violation)
        return cls(
            seeds=1,
            events=result.events,
            commands=result.faults,
            bad=int(is_bad),
            bad_seeds=[result.seed] if is_bad else [],
            reported=[result] if is_bad else [],
            kinds=dict.fromkeys(kinds, KindCount(1, int(is_bad), int(is_alone), int(is_alone and is_bad))),
            findings={
                name: Broken(1, SweepCounterexample(result.seed, result.fault_kinds, violation, result.link))
                for name, violation in firsts.items()
            },
            fingerprint=_fingerprint(result),
        )

    def add(self, result: SeedResult) -> None:
        """Add one run."""
        self.merge(SweepSummary.of(result))

    def add_unfinished(self, seed: int, why: str) -> None:
        """Add a seed that could not be run to its end."""
        self.merge(SweepSummary(seeds=1, unfinished={seed: why}, unfinished_count=1))

    def merge(self, other: SweepSummary) -> None:
        """Add the runs of ``other``; the two must have no seed in common."""
        self.seeds += other.seeds
        self.events += other.events
        self.commands += other.commands
        self.bad += other.bad
        self.bad_seeds = sorted(self.bad_seeds + other.bad_seeds)[:KEPT_SEEDS]
        self.reported = sorted(self.reported + other.reported, key=lambda result: result.seed)[:KEPT_IN_FULL]
        self.unfinished_count += other.unfinished_count
        self.unfinished = dict(sorted({**self.unfinished, **other.unfinished}.items())[:KEPT_IN_FULL])
        for kind, count in other.kinds.items():
            self.kinds[kind] = self.kinds.get(kind, KindCount()).with_runs_of(count)
        for name, broken in other.findings.items():
            self.findings[name] = broken.with_runs_of(self.findings[name]) if name in self.findings else broken
        self.fingerprint = (self.fingerprint + other.fingerprint) % _FINGERPRINT

    # --- JSON --------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as a JSON object; :meth:`from_dict` reads it back."""
        return {
            "seeds": self.seeds,
            "events": self.events,
            "commands": self.commands,
            "bad": self.bad,
            "bad_seeds": self.bad_seeds,
            "told": [asdict(result) for result in self.reported],
            "unfinished": [[seed, why] for seed, why in self.unfinished.items()],
            "unfinished_count": self.unfinished_count,
            "kinds": {kind.value: list(count) for kind, count in sorted(self.kinds.items())},
            "findings": {
                name: {"runs": finding.runs, "shortest": asdict(finding.shortest)}
                for name, finding in sorted(self.findings.items())
            },
            "fingerprint": f"{self.fingerprint:032x}",
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Decode from JSON. Raises ``KeyError``, ``TypeError``, ``ValueError`` if it was not made by
        :meth:`to_dict`.
        """
        return cls(
            fields["seeds"],
            fields["events"],
            fields["commands"],
            fields["bad"],
            list(fields["bad_seeds"]),
            [_result_from_dict(result) for result in fields["told"]],
            dict(fields["unfinished"]),
            fields["unfinished_count"],
            {FaultKind(kind): KindCount(*counts) for kind, counts in fields["kinds"].items()},
            {
                name: Broken(finding["runs"], SweepCounterexample.from_dict(finding["shortest"]))
                for name, finding in fields["findings"].items()
            },
            int(fields["fingerprint"], 16),
        )


def _fingerprint(result: SeedResult) -> int:
    digest = hashlib.sha256(f"{result.seed}:{result.journal_hash}".encode()).digest()
    return int.from_bytes(digest[:16], "big")


def _result_from_dict(fields: Mapping[str, Any]) -> SeedResult:
    kinds = tuple(FaultKind(kind) for kind in fields["fault_kinds"])
    return SeedResult(**{**fields, "violations": tuple(fields["violations"]), "fault_kinds": kinds})
