"""What a search of the lab for bad schedules does."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from app.foundation.json_types import JsonValue
from app.picture.world.invariant import Violation


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


class FoundStall(TypedDict):
    """One stall, crash or lost frame of a counterexample."""

    #: Who is stalled, at which of its steps, and at which of its passes through that step.
    actor: str
    label: dict[str, str]
    occurrence: int
    ms: int
    kind: str
    #: The event after which it begins.
    event: int
    time_us: int
    #: What it is, and what others do meanwhile, by language.
    caption: dict[str, str]
    meanwhile: dict[str, str]


class Finding(TypedDict):
    """A schedule that violates an invariant, as small as possible."""

    holds: list[FoundStall]
    violation: Violation
    #: Leads to the run just before its first stall, and to the violation.
    link: str
    end_link: str
    #: Further violations if the run is played to its end.
    later: list[Violation]


class WholeSearch(SearchOutline):
    """All that is known of a search."""

    phase: str
    #: Schedules that were run, and events in them; by depth, which is their number of stalls.
    schedules: int
    events: int
    by_depth: list[int]
    #: The depth that is being tried, and how many of its schedules were run.
    depth: int
    done: int
    planned: int
    is_complete: bool
    is_random: bool
    tried_on_stage: int
    #: Schedules with a violation that their recordings do not repeat.
    unconfirmed: int
    finding: Finding | None
    #: Wall-clock time; the second without the time for making a finding smaller.
    seconds: float
    search_seconds: float
    #: Why nothing was found, by language; known at the end.
    why: dict[str, str] | None
    #: Why it failed, by language.
    error: NotRequired[dict[str, str]]


class SearchPhaseReport(TypedDict):
    """That a search is in another phase, or, before its first report, has begun."""

    phase: str
    schedules: NotRequired[int]
    seconds: NotRequired[float]
