"""The health of the live broker in words: what :mod:`app.watch.rules` measured, compared with its thresholds.

A clause stays until its value has fallen well below the threshold, so that a lag that varies around it does not appear
and disappear every second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.foundation.translator import Number, in_all_languages
from app.observation.unix_time import unix_us
from app.watch.facts import Facts
from app.watch.memory import Memory
from app.watch.rules import RULES, Level, Measured, Rule
from app.watch.thresholds import Thresholds

if TYPE_CHECKING:
    from app.picture.health import Health, HealthClause, HealthRule

#: A clause stays until its value falls below this share of its threshold.
CLEAR_SHARE = 0.7
CLAUSES_MAX = 8
#: Early notices that are reported.
EARLY_MAX = 3
_RANK = {Level.BROKEN: 0, Level.WARNING: 1}


@dataclass(frozen=True, slots=True)
class Clause:
    """One fault, and since when it is reported."""

    rule: Rule
    measured: Measured
    since_ms: int

    def as_json(self) -> HealthClause:
        group = self.measured.words.get("group")
        return {
            "rule": self.rule.name,
            "level": str(self.rule.level),
            "panel": self.rule.panel,
            "subject": self.measured.subject,
            "group": group if isinstance(group, str) else None,
            "since_us": unix_us(self.since_ms),
            "text": {**self.text()},
        }

    def text(self) -> dict[str, str]:
        """Return the text by language."""
        key = "verdict.clause." + self.rule.name
        if self.measured.form:
            key += f".{self.measured.form}"
        return in_all_languages(key, n=Number(self.measured.n), **self.measured.words)


class ClusterVerdict:
    """The verdict on the latest sample, given the earlier ones."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.thresholds = thresholds
        self.memory = Memory()
        self._said: dict[tuple[str, str], Clause] = {}
        #: What is not a fault yet.
        self._early: list[Clause] = []
        self._facts: Facts | None = None

    def look(self, facts: Facts) -> None:
        """Judge a new sample."""
        self.memory.begin(facts)
        said: dict[tuple[str, str], Clause] = {}
        self._early = []
        for rule in RULES:
            threshold = self.thresholds.of(rule)
            for measured in rule.measure(facts, self.memory):
                key = (rule.name, measured.subject)
                before = self._said.get(key)
                if threshold is None:
                    continue
                clause = Clause(rule, measured, before.since_ms if before else facts.now_ms)
                if measured.value >= threshold * (CLEAR_SHARE if before else 1):
                    said[key] = clause
                elif measured.is_reported_early:
                    self._early.append(clause)
        self.memory.end()
        self._said, self._facts = said, facts

    def clauses(self) -> list[Clause]:
        """Return all faults: the worst first, then in the order of the rules, then the larger."""
        return sorted(self._said.values(), key=_place)

    def rules_said(self) -> dict[str, int]:
        """Return rule -> number of subjects with a fault."""
        found = dict.fromkeys((rule.name for rule in RULES), 0)
        for name, _ in self._said:
            found[name] += 1
        return found

    def as_json(self) -> Health:
        """Return the verdict as JSON."""
        clauses = self.clauses()
        shown = clauses[:CLAUSES_MAX]
        level = shown[0].rule.level if shown else Level.WELL
        return {
            "level": str(level),
            "text": {**(_joined(shown, len(clauses) - len(shown)) if shown else self._well())},
            "clauses": [clause.as_json() for clause in shown],
            "omitted": len(clauses) - len(shown),
        }

    def _well(self) -> dict[str, str]:
        if self._facts is None:
            return in_all_languages("verdict.unknown")
        groups = sum(1 for group in self._facts.groups.values() if group.members)
        if self._early:
            return in_all_languages(
                "verdict.early",
                clients=_counted("verdict.clients", self._facts.connections),
                groups=_counted("verdict.groups", groups),
                early=_joined(self._early[:EARLY_MAX], len(self._early) - EARLY_MAX),
            )
        if not self._facts.connections:
            return in_all_languages("verdict.nobody")
        lag = sum(group.lag for group in self._facts.groups.values())
        waits = in_all_languages("verdict.nothing_waits") if lag == 0 else _counted("verdict.wait", lag)
        return in_all_languages(
            "verdict.well",
            clients=_counted("verdict.clients", self._facts.connections),
            groups=_counted("verdict.groups", groups),
            waits=waits,
        )


def rules_as_json(thresholds: Thresholds) -> list[HealthRule]:
    """Return every rule with its meaning, its threshold (null: off), its default and its bounds."""
    return [
        {
            "rule": rule.name,
            "level": str(rule.level),
            "panel": rule.panel,
            "threshold": thresholds.of(rule),
            "default": rule.default,
            "least": rule.least,
            "most": rule.most,
            "unit": rule.unit,
            "text": {**in_all_languages("verdict.rule." + rule.name)},
        }
        for rule in RULES
    ]


def _place(clause: Clause) -> tuple[int, int, float]:
    return _RANK[clause.rule.level], RULES.index(clause.rule), -clause.measured.value


def _joined(clauses: list[Clause], omitted: int) -> dict[str, str]:
    texts = [clause.text() for clause in clauses] + ([_counted("word.more", omitted)] if omitted > 0 else [])
    separators = in_all_languages("verdict.separator")
    return {language: separator.join(text[language] for text in texts) for language, separator in separators.items()}


def _counted(key: str, n: int) -> dict[str, str]:
    return in_all_languages(key, n=Number(n))
