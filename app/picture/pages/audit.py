"""The audit of a run of the lab with Spark."""

from __future__ import annotations

from typing import TypedDict


class OfferedAudit(TypedDict):
    """What would be audited."""

    topics: list[str]
    groups: list[str]
    #: Consumers that do not report what they have consumed.
    silent: list[str]
    #: Producers that could number what they send.
    unnumbered: list[str]
    #: Why there can be no audit, by language.
    problem: dict[str, str] | None


class StartedAudit(TypedDict):
    """A run of Spark that audits."""

    run: str
    #: Of its page.
    address: str
