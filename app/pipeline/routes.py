"""The pipeline over HTTP: the page, the jobs, and the runs (:mod:`app.picture.pages.pipeline`), which it begins and
stops.
"""

from __future__ import annotations

from flask import Blueprint, Response

from app.foundation.translator import in_all_languages
from app.picture.pages.pipeline import PipelineInfo, RunList, StartedRun
from app.picture.refusal import refusal_json
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
from app.web.api import json_answer, refusal_answer
from app.web.api_parameters import read_json, read_query
from engine.fields.field import Field
from engine.pipeline.errors import UnknownJob
from engine.pipeline.jobs import registry
from engine.pipeline.jobs.arguments import ArgumentRefused

_BODY_MAX_BYTES = 32_000


def _check_key(key: str) -> None:
    if not key.isprintable():
        raise ValueError("has characters that cannot be printed")


_BODY = (
    Field("job", "text", 1, 200),
    Field("arguments", "object", default={}),
    Field(
        "keys",
        "object",
        default=None,
        fields=tuple(
            Field(name, "text", 1, 200, check=_check_key, is_secret=True) for name in ("access_key", "secret_key")
        ),
    ),
)


def add_pipeline_routes(api: Blueprint, host: PipelineHost | None) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`. ``host`` None: the pipeline is switched
    off.
    """

    @api.get("/pipeline/jobs")
    def jobs() -> Response:
        read_query()
        missing = missing_package()
        problem = in_all_languages("pipeline.switched_off") if host is None else None
        if host is not None and missing is not None:
            problem = in_all_languages("pipeline.missing", package=missing)
        info: PipelineInfo = {
            "jobs": [description_json(registry.describe(name)) for name in registry.JOB_NAMES],
            "problem": problem,
            "running_max": RUNNING_MAX,
            "master": None if host is None else host.settings.master,
            "folder": None if host is None else str(host.settings.folder),
            "asks_for_keys": host is not None and host.settings.asks_for_keys,
        }
        return json_answer(info)

    @api.get("/pipeline/runs")
    def runs() -> Response:
        read_query()
        answer: RunList = {"runs": [] if host is None else host.runs()}
        return json_answer(answer)

    @api.get("/pipeline/runs/<run_id>")
    def run(run_id: str) -> Response:
        read_query()
        return json_answer(_running(host).state(run_id))

    @api.post("/pipeline/runs")
    def begin() -> Response:
        pipeline = _running(host)
        job, arguments, keys = read_json(*_BODY, bytes_max=_BODY_MAX_BYTES).values()
        confined = confine_folders(registry.describe(job), arguments, pipeline.settings.folder)
        credentials = None if keys is None else BrokerCredentials(**keys)
        started: StartedRun = {"id": pipeline.start(job, confined, credentials)}
        return json_answer(started, 201)

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
        return json_answer(refusal_json(refusal.refused), 400)

    @api.errorhandler(UnknownJob)
    def unknown_job(error: UnknownJob) -> Response:
        return refusal_answer(error.sentence, 404)

    @api.errorhandler(UnknownRun)
    def unknown_run(_: UnknownRun) -> Response:
        return refusal_answer(in_all_languages("pipeline.gone"), 404)

    @api.errorhandler(TooManyRuns)
    def too_many_runs(_: TooManyRuns) -> Response:
        return refusal_answer(in_all_languages("pipeline.full", limit=RUNNING_MAX), 503)

    @api.errorhandler(SparkPackageMissing)
    def package_missing(error: SparkPackageMissing) -> Response:
        return refusal_answer(in_all_languages("pipeline.missing", package=str(error)), 503)

    @api.errorhandler(_SwitchedOff)
    def switched_off(_: _SwitchedOff) -> Response:
        return refusal_answer(in_all_languages("pipeline.switched_off"), 503)


def _running(host: PipelineHost | None) -> PipelineHost:
    if host is None:
        raise _SwitchedOff
    return host
