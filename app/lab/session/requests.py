"""Requests of a browser to the lab: read strictly, bounded; a refusal names what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.lab.foundation.bounds import LINK_MAX, NAME_MAX, SPEED_MAX, SPEED_MIN
from app.lab.foundation.refusal import LabRefused, fields_refused
from app.lab.session.pace import AUTO
from engine.fields.field import Field, read_fields, read_tag
from engine.lab.run.recording import EVENTS_MAX
from engine.lab.scenario.command import TEXT_MAX_LENGTH
from engine.lab.scenario.condition import ConditionKind
from engine.lab.scenario.scenario_text import DURATION_MAX_MS, SEED_MAX

_TIME_MAX_US = DURATION_MAX_MS * 1_000

#: Action -> its fields.
ACTIONS: Mapping[str, tuple[Field, ...]] = {
    # The last events before event ``slow_to`` come one by one.
    "play": (Field("slow_to", "integer", 0, EVENTS_MAX, default=0),),
    "pause": (),
    "step": (),
    "step-back": (),
    "restart": (),
    "fork": (),
    # The next event of that actor, and all before it.
    "step-actor": (Field("actor", "text", 0, TEXT_MAX_LENGTH, default=""),),
    # The world as it was after that event.
    "scrub": (Field("event", "integer", 0, EVENTS_MAX),),
    # The world as it was then; or it runs there: a violation or a breakpoint does not stop it.
    "stand-at": (Field("time_us", "integer", 0, _TIME_MAX_US), Field("anew", "switch", default=False)),
    # Virtual seconds per second, or as the eye can follow.
    "speed": (Field("speed", "number", SPEED_MIN, SPEED_MAX, allowed=(AUTO,)),),
    # Others may follow it, read-only.
    "publish": (Field("on", "switch", default=False),),
    "run-until": (
        Field("on", "choice", allowed=tuple(ConditionKind)),
        Field("node", "text", 0, NAME_MAX, default=""),
        Field("contains", "text", 0, TEXT_MAX_LENGTH, default=""),
        Field("time_us", "integer", 0, _TIME_MAX_US, default=0),
    ),
}
_OPEN = (
    Field("scenario", "text", 0, NAME_MAX, default=""),
    Field("seed", "integer", 0, SEED_MAX, default=None),
    Field("link", "text", 0, LINK_MAX, default=""),
    Field("world", "text", 0, NAME_MAX, default=""),
    *(Field(name, "switch", default=False) for name in ("fresh", "exact", "asks")),
)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """The world that a page wants: a published one, one of a link, or its own of a scenario. ``fresh``: a new one.
    ``exact``: one that is where the link leads, not one that came from there and went on. ``asks``: the page asks its
    user before it joins a run that has begun.
    """

    scenario: str = ""
    seed: int | None = None
    link: str = ""
    world: str = ""
    fresh: bool = False
    exact: bool = False
    asks: bool = False


@fields_refused()
def read_open(request: object) -> OpenRequest:
    """Read an open request. Raises :class:`LabRefused`."""
    opened = OpenRequest(**read_fields(_OPEN, request, what="open"))
    if not (opened.scenario or opened.link or opened.world):
        raise LabRefused("bad_request", problem="open: scenario | link | world")
    return opened


@fields_refused()
def read_control(request: object) -> tuple[str, dict[str, Any]]:
    """Return the action by which a world's owner controls time, and its fields. Raises :class:`LabRefused`."""
    action = read_tag("action", ACTIONS, request, "control")
    return action, read_fields(ACTIONS[action], request, action, also=("action",))
