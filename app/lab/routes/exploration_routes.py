"""Searches over HTTP: a page starts one for its world, polls its progress, and may end it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from flask import Blueprint, Response, request

from app.foundation.json_types import JsonObject
from app.lab.foundation.bounds import NAME_MAX
from app.lab.foundation.browser_identity import browser_of_request
from app.lab.foundation.refusal import LabRefused
from app.lab.routes.explorations import Explorations
from app.lab.routes.search_order import SEARCH_FIELDS
from app.lab.session.host import LabHost
from app.web.api import json_answer
from engine.lab.explorer.lost_frames import LOST_FRAMES
from engine.lab.explorer.plan import (
    CRASHES_MAX,
    DURATIONS_MAX,
    HOLD_MS_MAX,
    LOSSES_MAX,
    STALLS_MAX,
    ExplorationRequest,
)
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.node_spec import NodeSpec, SettingValue
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_names import NODES_MAX
from engine.lab.scenario.scenario_text import DURATION_MAX_MS
from engine.lab.scenario.settings import find_setting
from engine.lab.scenario.switches import IDEMPOTENT_CONSUMER, SWITCHES
from engine.protocol.json_form import json_library

_T = TypeVar("_T")

_STATUS = {"no_world": 404, "no_search": 404, "too_many_searches": 503, "server_busy": 503}
#: Bytes of a request.
_REQUEST_MAX_BYTES = 4_000
_FORCED_UNLOCKS_MAX = 4
_QUEUE_ID_MAX = 1_000


def create_exploration_routes(host: LabHost, explorations: Explorations) -> Blueprint:
    """Return the blueprint with ``/api/lab/explorations``."""
    routes = Blueprint("explorations", __name__)

    def of_world(fields: JsonObject, read: Callable[[JsonObject, LabRun], _T]) -> _T:
        """Return the result of ``read`` for ``fields`` and the world that they name."""
        owner, world = _owner(), _text(fields, "world")
        return host.ask(lambda worlds: read(fields, worlds.session(world, owner).player.run))

    @routes.post("/api/lab/explorations")
    def begin() -> Response:
        request = of_world(_json_body(), read_exploration)
        return json_answer({"id": explorations.start(_owner(), request)}, 201)

    @routes.post("/api/lab/explorations/plan")
    def plan() -> Response:
        def read(fields: JsonObject, run: LabRun) -> tuple[ExplorationRequest, JsonObject]:
            return read_exploration(fields, run), _changed(run, is_kept=fields.get("keeps_settings") is not False)

        request, changed = of_world(_json_body(), read)
        return json_answer({**explorations.plan(request), **changed})

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


def _owner() -> str:
    browser = browser_of_request()
    if browser is None:
        raise LabRefused("not_open")
    return browser


def _json_body() -> JsonObject:
    if request.content_length is None or request.content_length > _REQUEST_MAX_BYTES:
        raise LabRefused("bad_request", problem=f"JSON, <= {_REQUEST_MAX_BYTES}")
    try:
        body = json_library.loads(request.get_data(cache=False))
    except ValueError as error:
        raise LabRefused("bad_request", problem=f"JSON: {error}") from None
    if not isinstance(body, dict):
        raise LabRefused("bad_request", problem=f"{{{', '.join(_KNOWN)}}}")
    return body


#: The fields of a request.
_KNOWN = ("world", *SEARCH_FIELDS, "keeps_settings")


def read_exploration(fields: JsonObject, run: LabRun) -> ExplorationRequest:
    """Read a page's request for a search in the world of ``run`` strictly. Raises :class:`LabRefused`.

    ``keeps_settings``: settings and switches that were changed on the page apply from the beginning; it is also the
    default.
    """
    for name in fields:
        if name not in _KNOWN:
            raise LabRefused("bad_request", problem=f"{name[:NAME_MAX]!r}: {' | '.join(_KNOWN)}")
    keeps_settings = fields.get("keeps_settings", True)
    if not isinstance(keeps_settings, bool):
        raise LabRefused("bad_request", problem="keeps_settings: true | false")
    switched = switched_now(run) if keeps_settings else ()
    off = _off_everywhere(run, switched)
    without = dict.fromkeys((*off, *(_name(name) for name in _list(fields, "without", len(SWITCHES)))))
    return ExplorationRequest(
        run.scenario,
        run.seed,
        without=tuple(without),
        max_stalls=_optional(fields, "max_stalls", STALLS_MAX),
        hold_ms=_durations(fields, "hold_ms"),
        pause_ms=_durations(fields, "pause_ms"),
        max_crashes=_optional(fields, "max_crashes", CRASHES_MAX),
        crash=tuple(_name(name) for name in _list(fields, "crash", NODES_MAX)),
        restart_ms=_durations(fields, "restart_ms"),
        max_losses=_optional(fields, "max_losses", LOSSES_MAX),
        lose=tuple(_name(name) for name in _list(fields, "lose", len(LOST_FRAMES))),
        forced_unlocks=tuple(_forced_unlock(one) for one in _list(fields, "forced_unlocks", _FORCED_UNLOCKS_MAX)),
        from_ms=_optional(fields, "from_ms", DURATION_MAX_MS),
        to_ms=_optional(fields, "to_ms", DURATION_MAX_MS),
        settings=changed_settings(run) if keeps_settings else (),
        switched=tuple(command for command in switched if command.value.get("lock") not in off),
    )


def changed_settings(run: LabRun) -> tuple[tuple[str, str, SettingValue], ...]:
    """Return (node, name, value) of the settings that were changed on the page, as they are now.

    Nodes that joined later are left out.
    """
    changed: dict[tuple[str, str], SettingValue] = {}
    roles = {spec.name: spec.role for spec in run.scenario.nodes}
    for timed in run.commands:
        node = timed.command.target
        if timed.command.kind == "setting" and node in roles:
            name = find_setting(roles[node], str(timed.command.value["name"])).name
            changed[node, name] = run.world.nodes[node].settings[name]
    return tuple((node, name, value) for (node, name), value in changed.items())


def switched_now(run: LabRun) -> tuple[Command, ...]:
    """Return the switches that were flipped on the page, of nodes and of groups at their brokers, as they are now.

    What was flipped back, and nodes that joined later, are left out.
    """
    commands = [timed.command for timed in run.commands]
    flipped = dict.fromkeys(str(one.value["lock"]) for one in commands if one.kind == "lock-switch")
    groups = dict.fromkeys(str(one.value["group"]) for one in commands if one.kind == "group-lock")
    now: list[Command] = []
    for spec in run.scenario.nodes:
        role = run.world.nodes[spec.name]
        for name in flipped:
            is_on = name not in role.switched_off
            if isinstance(spec, SWITCHES[name].kind) and is_on == _begins_off(run, spec, name):
                now.append(Command("lock-switch", spec.name, {"lock": name, "on": is_on}))
        if isinstance(role, BrokerNode) and role.broker is not None:
            off = role.broker.rebalance_lock_manager.groups_off
            now += [Command("group-lock", spec.name, {"group": group, "on": False}) for group in groups if group in off]
    return tuple(now)


def _begins_off(run: LabRun, spec: NodeSpec, name: str) -> bool:
    bank = spec.bank if isinstance(spec, ConsumerSpec) else None
    is_naive_bank = name == IDEMPOTENT_CONSUMER and bank is not None and not bank.idempotent
    return is_naive_bank or name in run.scenario.switched_off


def _off_everywhere(run: LabRun, switched: Sequence[Command]) -> tuple[str, ...]:
    """Return the switches that are off at every node that has them."""
    off = [str(command.value["lock"]) for command in switched if command.value.get("lock") and not command.value["on"]]
    return tuple(
        name
        for name, switch in SWITCHES.items()
        if name in off and off.count(name) == len(run.scenario.of_kind(switch.kind))
    )


def _changed(run: LabRun, *, is_kept: bool) -> JsonObject:
    """Return what was changed on the page; ``off``: switches that are off everywhere because of that."""
    switched = switched_now(run)
    return {
        "settings": [{"node": node, "name": name, "value": value} for node, name, value in changed_settings(run)],
        "switched": [command.to_dict() for command in switched],
        "off": [*_off_everywhere(run, switched)] if is_kept else [],
    }


def _durations(fields: JsonObject, name: str) -> tuple[int, ...]:
    return tuple(_integer(ms, name, HOLD_MS_MAX) for ms in _list(fields, name, DURATIONS_MAX))


def _forced_unlock(value: object) -> tuple[int, str, int]:
    """Read ``[virtual ms, consumer, queue id]``."""
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


def _optional(fields: JsonObject, name: str, maximum: int) -> int | None:
    value = fields.get(name)
    return None if value is None else _integer(value, name, maximum)


def _integer(value: object, name: str, maximum: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= maximum:
        raise LabRefused("number", field=name, minimum=0, maximum=maximum)
    return value
