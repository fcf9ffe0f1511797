"""What a search of the lab for bad schedules does."""

from __future__ import annotations

from typing import TypedDict

from app.foundation.json_types import JsonValue


class SearchOutline(TypedDict):
    """What is searched, how much and when."""

    #: Names of invariants.
    checkers: list[str]
    is_order: bool
    is_work: bool
    max_stalls: int
    max_crashes: int
    crash_nodes: list[str]
    max_losses: int
    #: The window in which stalls begin.
    from_us: int
    to_us: int


class SearchPlan(SearchOutline):
    """What a search would do, and what may be chosen."""

    duration_ms: int
    switches: list[str]
    #: Nodes that may crash: name and role.
    clients: list[str]
    #: Frames that may be lost.
    frames: list[str]


class RefusedSearch(TypedDict):
    """A search that cannot be done."""

    #: Why, by language.
    problem: dict[str, str]


class ChangedSetting(TypedDict):
    """A setting that was changed on the page."""

    node: str
    name: str
    value: str | int | float | bool


class ChangedWorld(TypedDict):
    """What was changed on the page, and applies to a search from the beginning."""

    settings: list[ChangedSetting]
    #: Commands.
    switched: list[dict[str, JsonValue]]
    #: Switches that are off everywhere because of that.
    off: list[str]


class StartedSearch(TypedDict):
    """A search that was started."""

    id: str
