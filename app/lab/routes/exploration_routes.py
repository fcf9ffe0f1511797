"""Searches over HTTP: a page starts one for its world, polls its progress, and may end it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from flask import Blueprint, Response

from app.lab.foundation.bounds import NAME_MAX
from app.lab.foundation.refusal import fields_refused
from app.lab.routes.explorations import Explorations
from app.lab.routes.routes import answer_refusals, known_browser
from app.lab.routes.search_order import SEARCH_FIELDS
from app.lab.session.host import LabHost
from app.picture.pages.search import ChangedWorld, StartedSearch
from app.web.api import json_answer
from app.web.api_parameters import read_json
from engine.fields.field import Field
from engine.lab.explorer.plan import ExplorationRequest
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.kinds.node_spec import SettingValue
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.settings import find_setting
from engine.lab.scenario.switches import SWITCHES

_T = TypeVar("_T")

#: Bytes of a request.
_REQUEST_MAX_BYTES = 4_000
#: The fields of a request. ``keeps_settings``: settings and switches that were changed on the page apply from the
#: beginning.
FIELDS = (
    Field("world", "text", 0, NAME_MAX, default=""),
    *SEARCH_FIELDS,
    Field("keeps_settings", "switch", default=True),
)


def create_exploration_routes(host: LabHost, explorations: Explorations) -> Blueprint:
    """Return the blueprint with ``/api/lab/explorations``."""
    routes = Blueprint("explorations", __name__)

    def of_world(read: Callable[[Mapping[str, Any], LabRun], _T]) -> _T:
        """Return the result of ``read`` for the request's fields and the world that they name."""
        owner = known_browser()
        with fields_refused():
            fields = read_json(*FIELDS, bytes_max=_REQUEST_MAX_BYTES)
        return host.ask(lambda worlds: read(fields, worlds.session(fields["world"], owner).player.run))

    @routes.post("/api/lab/explorations")
    def begin() -> Response:
        started: StartedSearch = {"id": explorations.start(known_browser(), of_world(exploration_of))}
        return json_answer(started, 201)

    @routes.post("/api/lab/explorations/plan")
    def plan() -> Response:
        def read(fields: Mapping[str, Any], run: LabRun) -> tuple[ExplorationRequest, ChangedWorld]:
            return exploration_of(fields, run), _changed(run, is_kept=fields["keeps_settings"])

        request, changed = of_world(read)
        return json_answer({**explorations.plan(request), **changed})

    @routes.get("/api/lab/explorations/<identity>")
    def state(identity: str) -> Response:
        return json_answer(explorations.state(known_browser(), identity))

    @routes.delete("/api/lab/explorations/<identity>")
    def cancel(identity: str) -> Response:
        return json_answer(explorations.cancel(known_browser(), identity))

    answer_refusals(routes)
    return routes


def exploration_of(fields: Mapping[str, Any], run: LabRun) -> ExplorationRequest:
    """Return the request for a search in the world of ``run``, of the values of :data:`FIELDS`."""
    keeps_settings = fields["keeps_settings"]
    switched = switched_now(run) if keeps_settings else ()
    off = _off_everywhere(run, switched)
    searched = {field.name: fields[field.name] for field in SEARCH_FIELDS}
    return ExplorationRequest(
        run.scenario,
        run.seed,
        **{**searched, "without": tuple(dict.fromkeys((*off, *searched["without"])))},
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
            begins_off = name in (*run.scenario.switched_off, *spec.begins_off)
            if name in spec.switches and is_on == begins_off:
                now.append(Command("lock-switch", spec.name, {"lock": name, "on": is_on}))
        broker = run.world.find(BrokerNode, spec.name)
        if broker is not None and broker.broker is not None:
            off = broker.broker.rebalance_lock_manager.groups_off
            now += [Command("group-lock", spec.name, {"group": group, "on": False}) for group in groups if group in off]
    return tuple(now)


def _off_everywhere(run: LabRun, switched: Sequence[Command]) -> tuple[str, ...]:
    """Return the switches that are off at every node that has them."""
    off = [str(command.value["lock"]) for command in switched if command.value.get("lock") and not command.value["on"]]
    having = [name for spec in run.scenario.nodes for name in spec.switches]
    return tuple(name for name in SWITCHES if name in off and off.count(name) == having.count(name))


def _changed(run: LabRun, *, is_kept: bool) -> ChangedWorld:
    """Return what was changed on the page."""
    switched = switched_now(run)
    return {
        "settings": [{"node": node, "name": name, "value": value} for node, name, value in changed_settings(run)],
        "switched": [command.to_dict() for command in switched],
        "off": [*_off_everywhere(run, switched)] if is_kept else [],
    }
