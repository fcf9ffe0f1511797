"""The broker's verdict over HTTP (:class:`app.picture.health.HealthReport`): its health in words for the first line of
the live page, and the thresholds of its rules, which are kept in the data folder.

A refused threshold changes nothing. The gate and the JSON rule of app/live/transaction_routes.py hold here too.
"""

from __future__ import annotations

from flask import Blueprint, Response

from app.foundation.translator import in_all_languages
from app.web.api import json_answer, refusal_answer
from app.web.api_parameters import json_body, read_query
from app.web.live_source import LiveSource
from engine.fields.field import Field


def add_verdict_routes(api: Blueprint, source: LiveSource) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`, whose error handling they use."""

    @api.get("/live/verdict")
    def verdict() -> Response:
        read_query()
        return json_answer(source.ask(lambda live: live.watcher.as_json()))

    @api.post("/live/verdict/thresholds")
    def set_thresholds() -> Response:
        wanted = Field("body", "object").read(json_body(), "body")
        try:
            return json_answer(source.ask(lambda live: live.set_thresholds(wanted)))
        except OSError as error:
            return refusal_answer(in_all_languages("api.thresholds_unwritable", why=error.strerror), 500)
