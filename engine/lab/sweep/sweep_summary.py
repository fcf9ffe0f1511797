"""What came of many seeds, in a size that does not grow with them.

    summary = SweepSummary()
    summary.add(run_seed(scenario, 17))
    summary.merge(other)

Merging is associative and does not depend on the order, so it makes no difference which process or machine ran a seed,
nor in what portions: the same seeds give the same summary. It travels and is kept as JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from engine.lab.scenario.scenario import FaultKind
from engine.lab.sweep.sweep import SeedResult

#: Runs with violations that are kept in full, those with the lowest seeds.
KEPT_IN_FULL = 10
#: Seeds with violations that are kept by number.
KEPT_SEEDS = 1_000
#: Fingerprints are sums of so many bits.
_FINGERPRINT = 1 << 128


@dataclass(slots=True)
class KindCount:
    """How often one kind of fault was in a run, and how often an invariant was violated then.

    :ivar alone: runs with no other kind of fault.
    """

    runs: int = 0
    bad: int = 0
    alone: int = 0
    alone_bad: int = 0

    def merge(self, other: KindCount) -> None:
        """Count ``other``'s runs too."""
        self.runs += other.runs
        self.bad += other.bad
        self.alone += other.alone
        self.alone_bad += other.alone_bad


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A run that violates an invariant: as short as one was found.

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
        """What is shorter is easier to understand: fewest faults, then fewest events until it shows; then by seed."""
        return len(self.faults), self.violation["event"], self.seed

    def to_dict(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "seed": self.seed,
            "faults": [kind.value for kind in self.faults],
            "violation": dict(self.violation),
            "link": self.link,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Back from JSON."""
        faults = tuple(FaultKind(kind) for kind in fields["faults"])
        return cls(fields["seed"], faults, fields["violation"], fields["link"])


@dataclass(slots=True)
class Finding:
    """One invariant: how many runs violated it, and the shortest of them."""

    runs: int
    shortest: Counterexample

    def merge(self, other: Finding) -> None:
        """Count ``other``'s runs too."""
        self.runs += other.runs
        self.shortest = min(self.shortest, other.shortest, key=lambda example: example.length)


@dataclass(slots=True)
class SweepSummary:
    """See the module.

    :ivar seeds: how many seeds were run.
    :ivar events, commands: how many there were in all of them.
    :ivar bad: how many violated something.
    :ivar bad_seeds: the lowest of those, at most :data:`KEPT_SEEDS`.
    :ivar told: the same in full, at most :data:`KEPT_IN_FULL`.
    :ivar unfinished: seed -> why it could not be run to its end, at most :data:`KEPT_IN_FULL`; ``unfinished_count`` of
        them in all. They count as seeds, but not as violations.
    :ivar kinds: by kind of fault; a run with two kinds counts for both.
    :ivar findings: by invariant.
    :ivar fingerprint: of the journals of all runs: equal when the same seeds did the same.
    """

    seeds: int = 0
    events: int = 0
    commands: int = 0
    bad: int = 0
    bad_seeds: list[int] = field(default_factory=list)
    told: list[SeedResult] = field(default_factory=list)
    unfinished: dict[int, str] = field(default_factory=dict)
    unfinished_count: int = 0
    kinds: dict[FaultKind, KindCount] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    fingerprint: int = 0

    def add(self, result: SeedResult) -> None:
        """One more run."""
        is_bad = bool(result.violations)
        self.seeds += 1
        self.events += result.events
        self.commands += result.faults
        self.fingerprint = (self.fingerprint + _fingerprint(result)) % _FINGERPRINT
        kinds = dict.fromkeys(result.fault_kinds)
        for kind in kinds:
            is_alone = len(kinds) == 1
            count = KindCount(1, int(is_bad), int(is_alone), int(is_alone and is_bad))
            self.kinds.setdefault(kind, KindCount()).merge(count)
        if not is_bad:
            return
        self.bad += 1
        self.bad_seeds = sorted([*self.bad_seeds, result.seed])[:KEPT_SEEDS]
        self._keep_told([result])
        # A checker may tell several things of one run; it is one run all the same.
        firsts: dict[str, Mapping[str, Any]] = {}
        for violation in result.violations:
            firsts.setdefault(violation["checker"], violation)
        for name, violation in firsts.items():
            example = Counterexample(result.seed, result.fault_kinds, violation, result.link)
            self._merge_finding(name, Finding(1, example))

    def add_unfinished(self, seed: int, why: str) -> None:
        """A seed that could not be run to its end."""
        self.seeds += 1
        self.unfinished_count += 1
        self._keep_unfinished({seed: why})

    def merge(self, other: SweepSummary) -> None:
        """Take in the runs of ``other``; it and this one have no seed in common."""
        self.seeds += other.seeds
        self.events += other.events
        self.commands += other.commands
        self.bad += other.bad
        self.bad_seeds = sorted(self.bad_seeds + other.bad_seeds)[:KEPT_SEEDS]
        self._keep_told(other.told)
        self.unfinished_count += other.unfinished_count
        self._keep_unfinished(other.unfinished)
        for kind, count in other.kinds.items():
            self.kinds.setdefault(kind, KindCount()).merge(count)
        for name, finding in other.findings.items():
            self._merge_finding(name, finding)
        self.fingerprint = (self.fingerprint + other.fingerprint) % _FINGERPRINT

    def _merge_finding(self, name: str, finding: Finding) -> None:
        if name in self.findings:
            self.findings[name].merge(finding)
        else:
            self.findings[name] = Finding(finding.runs, finding.shortest)

    def _keep_told(self, results: list[SeedResult]) -> None:
        self.told = sorted(self.told + results, key=lambda result: result.seed)[:KEPT_IN_FULL]

    def _keep_unfinished(self, more: Mapping[int, str]) -> None:
        self.unfinished = dict(sorted({**self.unfinished, **more}.items())[:KEPT_IN_FULL])

    # --- JSON ------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """As a JSON object; :meth:`from_dict` reads it back."""
        return {
            "seeds": self.seeds,
            "events": self.events,
            "commands": self.commands,
            "bad": self.bad,
            "bad_seeds": self.bad_seeds,
            "told": [_result_to_dict(result) for result in self.told],
            "unfinished": [[seed, why] for seed, why in self.unfinished.items()],
            "unfinished_count": self.unfinished_count,
            "kinds": {
                kind.value: [count.runs, count.bad, count.alone, count.alone_bad]
                for kind, count in sorted(self.kinds.items())
            },
            "findings": {
                name: {"runs": finding.runs, "shortest": finding.shortest.to_dict()}
                for name, finding in sorted(self.findings.items())
            },
            "fingerprint": f"{self.fingerprint:032x}",
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Back from JSON. Raises ``KeyError``, ``TypeError``, ``ValueError`` when it is none of :meth:`to_dict`."""
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
                name: Finding(finding["runs"], Counterexample.from_dict(finding["shortest"]))
                for name, finding in fields["findings"].items()
            },
            int(fields["fingerprint"], 16),
        )


def _fingerprint(result: SeedResult) -> int:
    digest = hashlib.sha256(f"{result.seed}:{result.journal_hash}".encode()).digest()
    return int.from_bytes(digest[:16], "big")


def _result_to_dict(result: SeedResult) -> dict[str, Any]:
    return {
        "seed": result.seed,
        "events": result.events,
        "faults": result.faults,
        "journal_hash": result.journal_hash,
        "violations": [dict(violation) for violation in result.violations],
        "link": result.link,
        "fault_kinds": [kind.value for kind in result.fault_kinds],
    }


def _result_from_dict(fields: Mapping[str, Any]) -> SeedResult:
    return SeedResult(
        fields["seed"],
        fields["events"],
        fields["faults"],
        fields["journal_hash"],
        tuple(fields["violations"]),
        fields["link"],
        tuple(FaultKind(kind) for kind in fields["fault_kinds"]),
    )
