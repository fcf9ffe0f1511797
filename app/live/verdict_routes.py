"""The broker's verdict over HTTP: its health in words for the first line of the live page, and the thresholds of its
rules.

    GET  /api/live/verdict                {"level", "text": {en, zh}, "clauses": [...], "omitted", "rules": [...]}
    POST /api/live/verdict/thresholds     {rule: integer, or null to switch it off, ...}; answers like GET

The shapes: app/watch/verdict.py. Thresholds are kept in the data folder. Refused: 400 with ``parameter``, ``problem``,
``allowed`` and ``text`` ({en, zh}: what is allowed); then nothing was changed. The gate and the JSON rule of
app/live/transaction_routes.py hold here too.
"""

from __future__ import annotations

from flask import Blueprint, Response, request

from app.watch.rules import RULES
from app.watch.thresholds import ThresholdRefused
from app.web.api import json_answer
from app.web.api_parameters import BadParameter, only_known, read_json_object
from app.web.live_source import LiveSource

_NAMES = tuple(rule.name for rule in RULES)


def add_verdict_routes(api: Blueprint, source: LiveSource) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`, whose error handling they use."""

    @api.get("/live/verdict")
    def verdict() -> Response:
        only_known(request.args, ())
        return json_answer(source.ask(lambda live: live.watcher.as_json()))

    @api.post("/live/verdict/thresholds")
    def set_thresholds() -> Response:
        wanted = read_json_object(_NAMES, '{"group_behind": 5000, "dead_letters": null}')
        try:
            return json_answer(source.ask(lambda live: live.set_thresholds(wanted)))
        except ThresholdRefused as refused:
            raise BadParameter(refused.name, refused.problem, refused.text["en"], refused.text) from None
        except OSError as error:
            return json_answer({"error": f"the thresholds cannot be written: {error.strerror}"}, 500)
