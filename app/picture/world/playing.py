"""How a lab world is played, and the world as a page gets it."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from app.picture.world.world import WorldPicture


class WorldIdentity(TypedDict):
    """The world among those of the server."""

    #: Empty in a film.
    id: str
    #: Others may follow it.
    published: bool
    #: How many pages show it.
    viewers: int


class TimeAhead(TypedDict):
    """How time passes in the next stretch of a world that is shown next to another."""

    until_us: int
    #: Virtual seconds per second.
    rate: float
    why: str


class Busy(TypedDict):
    """What the world is busy with."""

    #: "rebuild", "scrub", "run-until" or "step-actor".
    kind: str
    event: int
    #: None: not known in advance.
    target: int | None


class StopReason(TypedDict):
    """Why play stopped."""

    #: "violation", "breakpoint", "limit", "over", "failure", or "differs": a recorded command is refused now.
    kind: str
    #: By language.
    text: dict[str, str]
    #: Of a violation, like all below: see :class:`~app.picture.world.invariant.Violation`.
    checker: NotRequired[str]
    anomaly: NotRequired[str]
    event: NotRequired[int]
    time_us: NotRequired[int]
    element: NotRequired[dict[str, str | int]]
    messages: NotRequired[list[str]]


class PlayState(TypedDict):
    """How a world or a recording is played."""

    playing: bool
    #: As it was chosen: virtual seconds per second, or "auto".
    speed: float | str
    #: None while it stands still.
    speed_now: float | None
    #: Why time passes at this rate at speed "auto"; may be empty.
    pace: str
    #: It is viewed as it was before.
    in_past: bool
    busy: Busy | None
    stopped_by: StopReason | None
    #: The link of the run from which a fork was made, or None.
    forked_from: str | None
    #: Why this is another run than the one that was recorded, by language; None: it is that one, as far as is known.
    differs: dict[str, str] | None


class Length(TypedDict):
    """How long a world or a recording is."""

    events_total: int
    time_total_us: int


class Playing(PlayState, Length):
    """How a world is played."""

    #: None unless it is shown next to another world.
    ahead: TimeAhead | None


class WorldInFilm(WorldPicture, Playing):
    """The world as a picture of a film has it."""

    world: WorldIdentity


class PlayedWorld(WorldInFilm):
    """The world as a page gets it."""

    #: The run as the fragment of an address.
    link: str
