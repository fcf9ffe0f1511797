"""Decisions on half messages by hand over HTTP: what the live page's buttons send.

Refused: 404 where there is no such message, else 409, as for one that is decided already unless ``anyway`` is true;
then nothing has happened. These, those of app/live/dead_letter_routes.py and those of app/live/operator_routes.py
change the broker. Other sites' pages cannot send them: the gate checks the Origin, and browsers send JSON only after a
CORS preflight, which this server does not grant.
"""

from __future__ import annotations

from flask import Blueprint, Response

from app.picture.half_message import HalfMessageDecision
from app.remote.dead_letters_view import refusal_view
from app.web.api import json_answer
from app.web.api_parameters import read_json, read_part
from app.web.live_source import LiveSource
from engine.broker.transactions.half_message_lookup import NOT_FOUND, HalfMessageAction, HalfMessageRefused
from engine.fields.field import Field

#: The unique id or a key of a half message.
_MESSAGE = Field("message", "text", 1, 1024, strip=True)
_ANYWAY = Field("anyway", "switch", default=False)


def add_transaction_routes(api: Blueprint, source: LiveSource) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`, whose error handling they use."""

    @api.post("/live/transactions/<action>")
    def act_on_half_message(action: str) -> Response:
        chosen = HalfMessageAction(read_part(Field("action", "choice", allowed=tuple(HalfMessageAction)), action))
        read = read_json(_MESSAGE) if chosen is HalfMessageAction.RESUME else read_json(_MESSAGE, _ANYWAY)
        name, anyway = read["message"], read.get("anyway", False)
        done = source.ask(lambda live: live.operator.act_on_half_message(chosen, name, anyway=anyway))
        answer: HalfMessageDecision = {"action": action, "message": done}
        return json_answer(answer)

    @api.errorhandler(HalfMessageRefused)
    def refused(error: HalfMessageRefused) -> Response:
        return json_answer(refusal_view(error), 404 if error.refusal in NOT_FOUND else 409)
