"""Searches over HTTP: a page begins one for its world, asks how far it has come, and may end it."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from flask import Blueprint, Response, request

from app.api import json_answer
from app.json_types import JsonObject
from app.lab.bounds import NAME_MAX
from app.lab.browser_identity import browser_of_request
from app.lab.explorations import Explorations
from app.lab.host import LabHost
from app.lab.refusal import LabRefused
from engine.lab.explorer.plan import DURATIONS_MAX, HOLD_MS_MAX, STALLS_MAX, ExplorationRequest
from engine.lab.run import LabRun
from engine.lab.scenario import Scenario
from engine.lab.scenario_text import DURATION_MAX_MS
from engine.lab.switches import SWITCHES

_STATUS = {"no_world": 404, "no_search": 404, "too_many_searches": 503, "server_busy": 503}
#: Bytes of a request.
_REQUEST_MAX_BYTES = 4_000
_FORCED_UNLOCKS_MAX = 4
_QUEUE_ID_MAX = 1_000


def create_exploration_routes(host: LabHost, explorations: Explorations) -> Blueprint:
    """The blueprint with ``/api/lab/explorations``."""
    routes = Blueprint("explorations", __name__)

    @routes.post("/api/lab/explorations")
    def begin() -> Response:
        fields = _json_body()
        owner = _owner()
        world = _text(fields, "world")
        scenario, seed = host.ask(lambda worlds: _scenario_of(worlds.session(world, owner).run))
        identity = explorations.start(owner, read_exploration(fields, scenario, seed))
        return json_answer({"id": identity}, 201)

    @routes.get("/api/lab/explorations/<identity>")
    def state(identity: str) -> Response:
        return json_answer(explorations.state(_owner(), identity))

    @routes.delete("/api/lab/explorations/<identity>")
    def cancel(identity: str) -> Response:
        return json_answer(explorations.cancel(_owner(), identity))

    @routes.errorhandler(LabRefused)
    def refused(refusal: LabRefused) -> Response:
        return json_answer({"reason": refusal.reason, "error": refusal.text}, _STATUS.get(refusal.reason, 400))

    return routes


def _scenario_of(run: LabRun) -> tuple[Scenario, int]:
    return run.scenario, run.seed


def _owner() -> str:
    browser = browser_of_request()
    if browser is None:
        raise LabRefused("not_open")
    return browser


def _json_body() -> JsonObject:
    if request.content_length is None or request.content_length > _REQUEST_MAX_BYTES:
        raise LabRefused("bad_request", problem=f"JSON, <= {_REQUEST_MAX_BYTES}")
    try:
        body = orjson.loads(request.get_data(cache=False))
    except orjson.JSONDecodeError as error:
        raise LabRefused("bad_request", problem=f"JSON: {error}") from None
    if not isinstance(body, dict):
        raise LabRefused("bad_request", problem="{world, without, max_stalls, hold_ms, pause_ms, forced_unlocks}")
    return body


def read_exploration(fields: JsonObject, scenario: Scenario, seed: int) -> ExplorationRequest:
    """What a page asks for, read strictly. Raises :class:`LabRefused`."""
    known = ("world", "without", "max_stalls", "hold_ms", "pause_ms", "forced_unlocks", "from_ms", "to_ms")
    for name in fields:
        if name not in known:
            raise LabRefused("bad_request", problem=f"{name[:NAME_MAX]!r}: {' | '.join(known)}")
    return ExplorationRequest(
        scenario,
        seed,
        without=tuple(_name(name) for name in _list(fields, "without", len(SWITCHES))),
        max_stalls=_integer(fields.get("max_stalls", 2), "max_stalls", STALLS_MAX),
        hold_ms=tuple(_integer(ms, "hold_ms", HOLD_MS_MAX) for ms in _list(fields, "hold_ms", DURATIONS_MAX)),
        pause_ms=tuple(_integer(ms, "pause_ms", HOLD_MS_MAX) for ms in _list(fields, "pause_ms", DURATIONS_MAX)),
        forced_unlocks=tuple(_forced_unlock(one) for one in _list(fields, "forced_unlocks", _FORCED_UNLOCKS_MAX)),
        from_ms=_optional(fields, "from_ms"),
        to_ms=_optional(fields, "to_ms"),
    )


def _forced_unlock(value: object) -> tuple[int, str, int]:
    """``[virtual ms, consumer, queue id]``."""
    if not isinstance(value, list) or len(value) != 3:
        raise LabRefused("bad_request", problem="forced_unlocks: [[ms, consumer, queue id], ...]")
    return (
        _integer(value[0], "forced_unlocks", DURATION_MAX_MS),
        _name(value[1]),
        _integer(value[2], "forced_unlocks", _QUEUE_ID_MAX),
    )


def _list(fields: JsonObject, name: str, maximum: int) -> Sequence[object]:
    value = fields.get(name, [])
    if not isinstance(value, list) or len(value) > maximum:
        raise LabRefused("bad_request", problem=f"{name}: [...], <= {maximum}")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str) or len(value) > NAME_MAX:
        raise LabRefused("bad_request", problem=f"text, <= {NAME_MAX}")
    return value


def _text(fields: JsonObject, name: str) -> str:
    return _name(fields.get(name, ""))


def _optional(fields: JsonObject, name: str) -> int | None:
    value = fields.get(name)
    return None if value is None else _integer(value, name, DURATION_MAX_MS)


def _integer(value: object, name: str, maximum: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= maximum:
        raise LabRefused("number", field=name, minimum=0, maximum=maximum)
    return value
