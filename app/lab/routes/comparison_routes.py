"""Two worlds side by side: the page and its HTTP API.

``variant`` answers :class:`~app.picture.session.comparison.ComparedLinks`: the run as it is viewed, and the same with a
command added or with its last command removed. ``difference`` answers
:class:`~app.picture.session.comparison.FirstDifference`.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, render_template

from app.lab.foundation.bounds import NAME_MAX
from app.lab.foundation.browser_identity import browser_of_request, remember_browser
from app.lab.foundation.refusal import LabRefused, fields_refused, refusal_of
from app.lab.session.comparison import DifferenceFinder, VariantMaker
from app.web.api import json_answer
from app.web.api_parameters import read_json, read_query
from app.web.framing import let_hold_frames
from engine.fields.field import Field
from engine.lab.run.setting_fork import StoryVariant, with_command, without_last_command
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import LabError

if TYPE_CHECKING:
    from app.lab.session.host import LabHost
    from app.lab.session.worlds import LabWorlds
    from app.picture.session.comparison import ComparedLinks, FirstDifference
    from engine.lab.run.recording import Recording

_CHANGE = Field("change", "object", default=None, fields=(Field("command", "object"), Field("from_start", "switch")))


def add_comparison_routes(lab: Blueprint, host: LabHost) -> None:
    """Add the routes to the lab's blueprint."""

    @lab.get("/lab/pair")
    def pair() -> Response:
        let_hold_frames()
        return remember_browser(Response(render_template("lab_comparison.html")))

    @lab.post("/api/lab/<world>/variant")
    def variant(world: str) -> Response:
        browser = browser_of_request()
        with fields_refused():
            change = read_json(_CHANGE)["change"]

        def make(worlds: LabWorlds, answer: Future[ComparedLinks]) -> VariantMaker:
            original = _recording(worlds, world, browser)
            try:
                return VariantMaker(original, _variant(original, change), answer)
            except LabError as error:
                raise refusal_of(error) from error

        return json_answer(host.job(browser, make))

    @lab.get("/api/lab/<world>/difference")
    def difference(world: str) -> Response:
        browser = browser_of_request()
        other = read_query(Field("other", "text", 1, NAME_MAX))["other"]

        def find(worlds: LabWorlds, answer: Future[FirstDifference]) -> DifferenceFinder:
            left, right = (worlds.session(name, browser).player.run.recording() for name in (world, other))
            return DifferenceFinder(left, right, answer)

        return json_answer(host.job(browser, find))


def _recording(worlds: LabWorlds, world: str, browser: str | None) -> Recording:
    player = worlds.session(world, browser).player
    if player.has_job:
        raise LabRefused("server_busy")
    return player.recording()


def _variant(original: Recording, change: dict[str, Any] | None) -> StoryVariant | Recording:
    """Return the variant that ``change`` describes. Raises :class:`LabRefused`, ``LabError``."""
    if change is None:
        if not original.commands:
            raise LabRefused("no_command")
        return without_last_command(original)
    command = parse_command(change["command"])
    # A timer or a size applies from the beginning, here as everywhere in the lab.
    return with_command(original, command, from_start=change["from_start"] or command.kind == "setting")
