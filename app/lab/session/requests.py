"""Requests of a browser to the lab: read strictly, bounded; a refusal names what is wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from app.foundation.json_types import JsonObject
from app.lab.foundation.bounds import LINK_MAX, NAME_MAX
from app.lab.foundation.refusal import LabRefused
from app.lab.session.pace import AUTO
from engine.lab.run.recording import EVENTS_MAX
from engine.lab.scenario.command import TEXT_MAX_LENGTH
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.scenario_text import DURATION_MAX_MS, SEED_MAX

#: Keys of one request, and of one command.
_KEYS_MAX = 20

#: Action -> its allowed fields.
ACTIONS: dict[str, tuple[str, ...]] = {
    "play": ("slow_to",),
    "pause": (),
    "step": (),
    "step-back": (),
    "restart": (),
    "fork": (),
    "step-actor": ("actor",),
    "scrub": ("event",),
    "stand-at": ("time_us", "anew"),
    "speed": ("speed",),
    "publish": ("on",),
    "run-until": ("on", "node", "contains", "time_us"),
}


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


@dataclass(frozen=True, slots=True)
class Control:
    """A request of the owner that controls time. Fields that the action does not have keep their defaults."""

    action: str
    actor: str = ""
    event: int = 0
    time_us: int = 0
    speed: float | Literal["auto"] = AUTO
    on: bool = False
    condition: Condition | None = None


def read_open(request: JsonObject) -> OpenRequest:
    """Read an open request. Raises :class:`LabRefused`."""
    _only(request, ("scenario", "seed", "link", "world", "fresh", "exact", "asks"))
    seed = request.get("seed")
    opened = OpenRequest(
        scenario=_text(request, "scenario", NAME_MAX),
        seed=None if seed is None else _integer(request, "seed", SEED_MAX),
        link=_text(request, "link", LINK_MAX),
        world=_text(request, "world", NAME_MAX),
        fresh=_switch(request, "fresh"),
        exact=_switch(request, "exact"),
        asks=_switch(request, "asks"),
    )
    if not (opened.scenario or opened.link or opened.world):
        raise LabRefused("bad_request", problem="open: scenario | link | world")
    return opened


def read_control(request: JsonObject) -> Control:
    """Read a control request. Raises :class:`LabRefused`."""
    action = request.get("action")
    if not isinstance(action, str) or action not in ACTIONS:
        raise LabRefused("bad_request", problem=f"control.action: {' | '.join(ACTIONS)}")
    _only(request, ("action", *ACTIONS[action]))
    match action:
        case "play":
            slow_to = _integer(request, "slow_to", EVENTS_MAX) if request.get("slow_to") is not None else 0
            return Control(action, event=slow_to)
        case "step-actor":
            return Control(action, actor=_text(request, "actor", TEXT_MAX_LENGTH))
        case "scrub":
            return Control(action, event=_integer(request, "event", EVENTS_MAX))
        case "stand-at":
            time_us = _integer(request, "time_us", DURATION_MAX_MS * 1_000)
            return Control(action, time_us=time_us, on=_switch(request, "anew"))
        case "speed":
            return Control(action, speed=AUTO if request.get("speed") == AUTO else _number(request, "speed"))
        case "publish":
            return Control(action, on=_switch(request, "on"))
        case "run-until":
            return Control(action, condition=_condition(request))
        case _:
            return Control(action)


def read_command(request: JsonObject) -> JsonObject:
    """Read a command and check its bounds; the engine checks its meaning."""
    if len(request) > _KEYS_MAX:
        raise LabRefused("bad_request", problem=f"command: <= {_KEYS_MAX} fields")
    return request


def _condition(request: JsonObject) -> Condition:
    on = request.get("on")
    if not isinstance(on, str) or on not in [kind.value for kind in ConditionKind]:
        raise LabRefused("bad_request", problem=f"run-until.on: {' | '.join(ConditionKind)}")
    time_us = _integer(request, "time_us", DURATION_MAX_MS * 1_000) if request.get("time_us") is not None else 0
    return Condition(
        ConditionKind(on),
        node=_text(request, "node", NAME_MAX),
        contains=_text(request, "contains", TEXT_MAX_LENGTH),
        time_us=time_us,
    )


def _only(request: JsonObject, known: tuple[str, ...]) -> None:
    for name in request:
        if name not in known:
            raise LabRefused("bad_request", problem=f"{str(name)[:NAME_MAX]!r}: {' | '.join(known)}")


def _text(request: JsonObject, name: str, maximum: int) -> str:
    """Return a text field, or an empty text."""
    value = request.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > maximum:
        raise LabRefused("bad_request", problem=f"{name}: text, <= {maximum}")
    return value


def _switch(request: JsonObject, name: str) -> bool:
    value = request.get(name, False)
    if not isinstance(value, bool):
        raise LabRefused("bad_request", problem=f"{name}: true | false")
    return value


def _integer(request: JsonObject, name: str, maximum: int) -> int:
    value = request.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= maximum:
        raise LabRefused("number", field=name, minimum=0, maximum=maximum)
    return value


def _number(request: JsonObject, name: str) -> float:
    value = request.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise LabRefused("bad_request", problem=f"{name}: number | {AUTO}")
    return float(value)
