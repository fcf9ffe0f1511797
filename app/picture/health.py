"""The health of the live broker in words, and the trends of its backlogs."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class HealthClause(TypedDict):
    """One fault, and since when it is reported."""

    #: Name of the rule that found it.
    rule: str
    #: "warning" or "broken".
    level: str
    #: The panel that shows more about it.
    panel: str
    subject: str
    group: str | None
    #: By the broker's clock, since 1970.
    since_us: int
    #: By language.
    text: dict[str, str]


class Health(TypedDict):
    """What is not well."""

    #: "well", or the worst level of the clauses.
    level: str
    #: All of it in one line, by language.
    text: dict[str, str]
    #: The worst first.
    clauses: list[HealthClause]
    omitted: int


class HealthRule(TypedDict):
    """A rule that finds what is not well."""

    rule: str
    #: "warning" or "broken".
    level: str
    #: The panel that shows more about it.
    panel: str
    #: None: the rule is off.
    threshold: float | None
    default: float
    least: float
    most: float
    unit: str
    #: What it finds, by language.
    text: dict[str, str]


class HealthReport(Health):
    """What is not well, and by which rules."""

    rules: list[HealthRule]


class BacklogOutlook(TypedDict):
    """What becomes of a backlog."""

    #: "growing", "gone" and others: see ``app.watch.backlogs.BacklogTrend``.
    kind: str
    #: Of kind "gone": until it is.
    left_us: NotRequired[int]


#: Group -> topic (empty: all topics) -> outlook.
BacklogOutlooks = dict[str, dict[str, BacklogOutlook]]
