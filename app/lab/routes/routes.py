"""The lab over HTTP: its pages, the details that the stream leaves out, export and import."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Blueprint, Response, render_template, request
from flask.typing import ResponseReturnValue

from app.lab.foundation.bounds import IMPORT_MAX_BYTES
from app.lab.foundation.browser_identity import browser_of_request, remember_browser
from app.lab.foundation.refusal import LabRefused, fields_refused, refusal_of
from app.lab.foundation.sources import source_file
from app.lab.routes.audit_routes import add_audit_routes
from app.lab.routes.comparison_routes import add_comparison_routes
from app.lab.routes.detail_routes import add_detail_routes
from app.lab.routes.html_export import recording_page
from app.lab.routes.scenario_list import BREAKS, begin_with, poster, scenario_shelves
from app.lab.routes.setting_table import setting_table
from app.lab.routes.wire_routes import add_wire_routes
from app.lab.session.film import FilmMaker
from app.web.api import json_answer
from app.web.api_parameters import read_query
from app.web.framing import let_frame
from engine.fields.field import Field
from engine.fields.json_input import parse_json
from engine.lab.narration.relevance import QUIET_LABELS, QUIET_REQUESTS, QUIET_TASKS
from engine.lab.run.recording import parse_export
from engine.lab.scenario.command import COMMANDS, CommandKind
from engine.lab.scenario.errors import RecordingRefused, ScenarioError
from engine.lab.scenario.scenario_files import scenario_names
from engine.lab.scenario.switches import SWITCHES
from engine.lab.work.store_frames import StoreRefusalCode
from engine.texts import LANGUAGES, catalogue

if TYPE_CHECKING:
    from app.lab.routes.audits import LabAudits
    from app.lab.session.host import LabHost
    from app.lab.session.session import WorldSession
    from app.live.live_faults import LiveFaults
    from app.picture.pages.lab import ImportedRun, ShownCommand, StageTables
    from app.picture.session.film import Film

#: A source file; :func:`source_file` says which there are.
_FILE = Field("file", "text", 0, 1_000, default="")
_STATUS = {
    "no_world": 404,
    "no_frame": 404,
    "no_source": 404,
    "no_record": 404,
    "no_entry": 404,
    "no_broker": 404,
    "no_lesson": 404,
    "no_search": 404,
    "audit_pipeline": 503,
    "server_busy": 503,
    "too_many_jobs": 429,
    "too_many_searches": 503,
    "too_many_worlds": 503,
}


def create_lab_routes(
    host: LabHost,
    static_folder: Path,
    audits: LabAudits,
    embedders: tuple[str, ...] = (),
    faults: LiveFaults | None = None,
) -> Blueprint:
    """Return the blueprint with ``/lab`` and ``/api/lab``. ``embedders``: other sites whose pages may embed a stage."""
    lab = Blueprint("lab", __name__)
    reading = threading.Lock()  # scenarios are cached once read: concurrent requests wait for the first
    add_detail_routes(lab, host)
    add_audit_routes(lab, host, audits)
    add_comparison_routes(lab, host)
    add_wire_routes(lab, faults)

    @lab.get("/lab")
    def scenario_list() -> ResponseReturnValue:
        with reading:
            shelves = scenario_shelves(static_folder)
        page = render_template(
            "lab_list.html",
            shelves=shelves,
            begin=begin_with(shelves),
            breaks=BREAKS,
            import_max_bytes=IMPORT_MAX_BYTES,
        )
        return remember_browser(Response(page))

    @lab.get("/lab/<scenario>")
    def stage(scenario: str) -> ResponseReturnValue:
        # A link may contain a scenario of its own, which the server does not see in the address: the page is served in
        # any case, and reports a link that does not work.
        status = 200 if scenario in scenario_names() or "world" in request.args else 404
        if is_embedded := "embed" in request.args:
            let_frame(embedders)
        is_paired = request.args.get("embed") == "pair"
        lab_data = {"poster": poster(scenario, static_folder)}
        page = render_template("lab.html", lab_data=lab_data, is_embedded=is_embedded, is_paired=is_paired)
        return remember_browser(Response(page, status=status))

    @lab.get("/api/lab/<world>/export.json")
    def export_json(world: str) -> Response:
        browser = browser_of_request()
        return _download(
            json_answer(host.ask(lambda worlds: worlds.session(world, browser).player.run.export())), "json"
        )

    @lab.get("/api/lab/<world>/export.html")
    def export_html(world: str) -> Response:
        browser = browser_of_request()
        film: Film = host.job(browser, lambda worlds, answer: _film_of(worlds.session(world, browser), answer))
        return _download(Response(recording_page(film, static_folder), mimetype="text/html"), "html")

    @lab.get("/api/lab/source")
    def source() -> Response:
        return json_answer(source_file(read_query(_FILE)["file"]))

    @lab.post("/api/lab/import")
    def import_run() -> Response:
        data = read_json_body()
        browser = known_browser()
        try:
            recording = parse_export(data)  # here, so that the worlds of others do not wait for it
        except (RecordingRefused, ScenarioError) as error:
            raise refusal_of(error, "import") from error
        world, scenario = host.ask(lambda worlds: _imported(worlds.import_run(recording, browser)))
        imported: ImportedRun = {"world": world, "scenario": scenario, "address": f"/lab/{scenario}?world={world}"}
        return json_answer(imported, 201)

    answer_refusals(lab)
    return lab


def answer_refusals(routes: Blueprint) -> None:
    """Let ``routes`` answer :class:`LabRefused` with its reason, and its text in each language."""

    @routes.errorhandler(LabRefused)
    def refused(refusal: LabRefused) -> Response:
        return json_answer(refusal.as_json(), _STATUS.get(refusal.reason, 400))


def known_browser() -> str:
    """Return the browser of the current request. Raises :class:`LabRefused` when it has opened no page yet."""
    browser = browser_of_request()
    if browser is None:
        raise LabRefused("not_open")
    return browser


def page_tables() -> StageTables:
    """Return what a page with a stage needs."""
    return {
        "commands": command_table(),
        "switches": {name: {"name": dict(one.name), "what": dict(one.what)} for name, one in SWITCHES.items()},
        **setting_table(),
        "import_max_bytes": IMPORT_MAX_BYTES,
        "labels": label_table(),
        "quiet": {
            "tasks": list(QUIET_TASKS),
            "labels": list(QUIET_LABELS),
            "requests": list(QUIET_REQUESTS),
            "refusals": [code.name for code in StoreRefusalCode],
        },
    }


def label_table() -> dict[str, dict[str, str]]:
    """Return the names of the journal for people."""
    names = {
        language: {
            key.removeprefix("label."): text for key, text in catalogue(language).items() if key.startswith("label.")
        }
        for language in LANGUAGES
    }
    return {language: {name: text for name, text in table.items() if name != text} for language, table in names.items()}


def command_table(commands: Mapping[str, CommandKind] = COMMANDS) -> dict[str, ShownCommand]:
    """Return the commands for a world or for the live broker, from which the page builds its forms."""
    return {
        kind: {
            "target": spec.target.value,
            "fields": [
                {
                    "name": field.name,
                    "kind": field.kind,
                    "default": None if field.default is ... else field.default,
                    "low": field.low,
                    "high": field.high,
                    "allowed": list(field.allowed),
                }
                for field in spec.fields
            ],
            "name": dict(spec.name),
            "what": dict(spec.what),
        }
        for kind, spec in commands.items()
    }


@fields_refused()
def read_json_body() -> object:
    """Return the JSON body of the current request. Raises :class:`LabRefused`."""
    length = request.content_length
    if length is None or length > IMPORT_MAX_BYTES:
        raise LabRefused("import_too_long", limit=IMPORT_MAX_BYTES)
    return parse_json(request.get_data(cache=False))


def _imported(session: WorldSession) -> tuple[str, str]:
    return session.identity, session.scenario


def _film_of(session: WorldSession, answer: Future[Film]) -> FilmMaker:
    """Return a film of all of the run, including what comes after the event that is viewed."""
    player = session.player
    return FilmMaker(player.run.recording(), answer, at=player.recording().event)


def _download(response: Response, kind: str) -> Response:
    response.headers["Content-Disposition"] = f'attachment; filename="glassmq-run.{kind}"'
    return response
