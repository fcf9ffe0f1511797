"""The consumer groups that an audit judges, and on which topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JudgedGroups:
    """The groups of the parameters ``groups`` and ``judge_groups``.

    :ivar named: ``group`` or ``group@topic``: these must have consumed everything, of all topics or of this one. Empty:
        those that report, each from where it began. None: no group is judged.
    """

    named: tuple[str, ...] | None = ()

    def names(self) -> frozenset[str] | None:
        """Return the groups whose reports matter; None: all."""
        if self.named == ():
            return None
        return frozenset(one.partition("@")[0] for one in self.named or ())

    def must_have_all(self, group: str, topic: str) -> bool:
        """Return whether ``group`` was requested by name for ``topic``."""
        return self.named is not None and (group in self.named or f"{group}@{topic}" in self.named)

    def is_judged(self, group: str, topic: str) -> bool:
        """Return whether a report of ``group`` about ``topic`` counts."""
        return self.named == () or self.must_have_all(group, topic)

    def pairs(self, topics: Iterable[str]) -> list[tuple[str, str]]:
        """Return (group, topic) of who must have consumed which of ``topics``."""
        groups = sorted(self.names() or ())
        return [(group, topic) for topic in topics for group in groups if self.must_have_all(group, topic)]

    def topics(self) -> list[str]:
        """Return the topics that are named with a group."""
        return sorted({topic: None for one in self.named or () if (topic := one.partition("@")[2])})
