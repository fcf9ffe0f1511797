"""The runs of the storage laboratory over HTTP: the last run of each kind, and its start and end."""

from __future__ import annotations

from flask import Blueprint, Response

from app.storage.routes import refusal
from app.storage.runs.host import RunUnderWay, StorageRuns
from app.web.api import json_answer
from app.web.api_parameters import read_part, read_query
from engine.fields.field import Field


def add_run_routes(api: Blueprint, runs: StorageRuns) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`."""

    @api.get("/storage/runs/<kind>")
    def storage_run(kind: str) -> Response:
        return answer(kind)

    @api.post("/storage/runs/<kind>")
    def storage_start(kind: str) -> Response:
        runs.start(known(kind))
        return answer(kind, 202)

    @api.post("/storage/runs/<kind>/cancel")
    def storage_cancel(kind: str) -> Response:
        runs.cancel(known(kind))
        return answer(kind, 202)

    @api.errorhandler(RunUnderWay)
    def run_under_way(_: RunUnderWay) -> Response:
        return refusal("storage.run_under_way", 503)

    def known(kind: str) -> str:
        read_query()
        return str(read_part(Field("kind", "choice", allowed=tuple(runs.kinds)), kind))

    def answer(kind: str, status: int = 200) -> Response:
        return json_answer(runs.state(known(kind)), status)
