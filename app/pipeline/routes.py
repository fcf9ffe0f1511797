"""The pipeline over HTTP::

    GET  /pipeline                     the page
    GET  /api/pipeline/jobs            the jobs, and whether they can run here
    GET  /api/pipeline/runs            every run, newest first
    GET  /api/pipeline/runs/ID         one run with everything that it reported
    POST /api/pipeline/runs            {"job", "arguments": {...}, "keys": {"access_key", "secret_key"}}: begins one
    POST /api/pipeline/runs/ID/stop    ends it, within 5 s

Errors are ``{"error", "text": {"en", "zh"}}``; of an argument with ``parameter``.
"""

from __future__ import annotations

from flask import Blueprint, Response, render_template, request

from app.foundation.json_types import JsonObject
from app.foundation.translator import in_all_languages
from app.pipeline.folders import confine_folders
from app.pipeline.host import (
    RUNNING_MAX,
    BrokerCredentials,
    PipelineHost,
    SparkPackageMissing,
    TooManyRuns,
    UnknownRun,
    missing_package,
)
from app.pipeline.views import description_json
from app.web.api import json_answer
from app.web.api_parameters import BadParameter, only_known, shown
from engine.pipeline.errors import UnknownJob
from engine.pipeline.jobs import registry
from engine.pipeline.jobs.arguments import ArgumentRefused
from engine.pipeline.jobs.description import Texts
from engine.protocol.json_form import json_library

_BODY_MAX_BYTES = 32_000
_KEY_MAX = 200


def create_pipeline_page() -> Blueprint:
    """Return the blueprint with the page ``/pipeline``."""
    pages = Blueprint("pipeline", __name__)

    @pages.get("/pipeline")
    def pipeline() -> str:
        return render_template("pipeline.html")

    return pages


def add_pipeline_routes(api: Blueprint, host: PipelineHost | None) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`. ``host`` None: the pipeline is switched
    off.
    """

    @api.get("/pipeline/jobs")
    def jobs() -> Response:
        only_known(request.args, ())
        missing = missing_package()
        problem = in_all_languages("pipeline.switched_off") if host is None else None
        if host is not None and missing is not None:
            problem = in_all_languages("pipeline.missing", package=missing)
        return json_answer(
            {
                "jobs": [description_json(registry.describe(name)) for name in registry.JOB_NAMES],
                "problem": problem,
                "running_max": RUNNING_MAX,
                "master": None if host is None else host.settings.master,
                "folder": None if host is None else str(host.settings.folder),
                "asks_for_keys": host is not None and host.settings.asks_for_keys,
            }
        )

    @api.get("/pipeline/runs")
    def runs() -> Response:
        only_known(request.args, ())
        return json_answer({"runs": [] if host is None else host.runs()})

    @api.get("/pipeline/runs/<run_id>")
    def run(run_id: str) -> Response:
        only_known(request.args, ())
        return json_answer(_running(host).state(run_id))

    @api.post("/pipeline/runs")
    def begin() -> Response:
        pipeline = _running(host)
        body = _read_object(("job", "arguments", "keys"))
        job, arguments = body.get("job"), body.get("arguments", {})
        if not isinstance(job, str):
            raise BadParameter("job", "it is missing or not a string", ", ".join(registry.JOB_NAMES))
        if not isinstance(arguments, dict):
            raise BadParameter("arguments", "they are not an object", '{"topic": "orders"}')
        confined = confine_folders(registry.describe(job), arguments, pipeline.settings.folder)
        return json_answer({"id": pipeline.start(job, confined, _keys(body.get("keys")))}, 201)

    @api.post("/pipeline/runs/<run_id>/stop")
    def stop(run_id: str) -> Response:
        pipeline = _running(host)
        pipeline.stop(run_id)
        return json_answer(pipeline.state(run_id), 202)

    _add_refusals(api)


class _SwitchedOff(Exception):
    """This server runs no jobs."""


def _add_refusals(api: Blueprint) -> None:
    @api.errorhandler(ArgumentRefused)
    def refused_argument(refusal: ArgumentRefused) -> Response:
        return _refusal(refusal.text, 400, error=str(refusal), parameter=refusal.parameter)

    @api.errorhandler(UnknownJob)
    def unknown_job(error: UnknownJob) -> Response:
        return json_answer({"error": str(error)}, 404)

    @api.errorhandler(UnknownRun)
    def unknown_run(_: UnknownRun) -> Response:
        return _refusal(in_all_languages("pipeline.gone"), 404)

    @api.errorhandler(TooManyRuns)
    def too_many_runs(_: TooManyRuns) -> Response:
        return _refusal(in_all_languages("pipeline.full", limit=RUNNING_MAX), 503)

    @api.errorhandler(SparkPackageMissing)
    def package_missing(error: SparkPackageMissing) -> Response:
        return _refusal(in_all_languages("pipeline.missing", package=str(error)), 503)

    @api.errorhandler(_SwitchedOff)
    def switched_off(_: _SwitchedOff) -> Response:
        return _refusal(in_all_languages("pipeline.switched_off"), 503)


def _running(host: PipelineHost | None) -> PipelineHost:
    if host is None:
        raise _SwitchedOff
    return host


def _refusal(text: Texts, status: int, **more: str) -> Response:
    return json_answer({"error": text["en"], "text": dict(text), **more}, status)


def _read_object(fields: tuple[str, ...]) -> JsonObject:
    if request.mimetype != "application/json":
        raise BadParameter("Content-Type", f"{shown(request.mimetype)} is not supported", "application/json")
    if request.content_length is None or request.content_length > _BODY_MAX_BYTES:
        raise BadParameter("body", "its length is missing or too large", f"at most {_BODY_MAX_BYTES} bytes")
    try:
        body = json_library.loads(request.get_data(cache=False))
    except ValueError as error:
        raise BadParameter("body", f"it is not JSON: {error}", "an object") from None
    if not isinstance(body, dict):
        raise BadParameter("body", "it is not an object", f"an object with {', '.join(fields)}")
    only_known(body, fields)
    return body


def _keys(value: object) -> BrokerCredentials | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != {"access_key", "secret_key"}:
        raise BadParameter("keys", "they are not a pair", '{"access_key": ..., "secret_key": ...}')
    for name, text in value.items():
        # The key itself is not repeated in the answer.
        if not isinstance(text, str) or not 1 <= len(text) <= _KEY_MAX or not text.isprintable():
            raise BadParameter(name, "it is not a key", f"a text of up to {_KEY_MAX} characters")
    return BrokerCredentials(value["access_key"], value["secret_key"])
