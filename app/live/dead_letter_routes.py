"""Dead letters over HTTP: the list of the live page, and the requests of its buttons (:mod:`app.picture.dead_letter`).

``to`` selects the receivers: every group that subscribes to the first topic, or only the group that failed. Messages
that were resent before are left alone, unless they are named and ``anyway`` is true. "all" works 200 at a time: the
answer's ``next`` goes back as ``start``. 404: there is no such group.

The gate and the JSON rule of app/live/transaction_routes.py keep other sites' pages from sending these.
"""

from __future__ import annotations

from flask import Blueprint, Response

from app.foundation.operator_requests import ResendRequest
from app.foundation.translator import in_all_languages
from app.picture.dead_letter import DeadLetterGroups
from app.remote.remote_dead_letters import RESEND_MAX
from app.web.api import json_answer, refusal_answer
from app.web.api_parameters import INT64_MAX, json_body, read_part, read_query
from app.web.live_source import LiveSource
from engine.broker.delivery.dead_letter import ResendTo
from engine.fields.field import Field, read_fields
from engine.fields.refusal import FieldRefused, shown

#: Dead letters that one page lists.
PAGE_MAX = 100
PAGE = 20
_GROUP = Field("group", "text", 1, 255)
_ALL = Field("messages", "choice", allowed=("all",))
_MESSAGES = Field(
    "messages",
    "names",
    1,
    RESEND_MAX,
    each=1024,
    strip=True,
    says=in_all_languages("operate.field_messages", most=RESEND_MAX),
)
_HOW = (
    Field("to", "choice", allowed=tuple(ResendTo)),
    Field("anyway", "switch", default=False),
    Field("start", "integer", 0, INT64_MAX, default=0),
)


def add_dead_letter_routes(api: Blueprint, source: LiveSource) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`, whose error handling they use."""

    @api.get("/live/dead-letters")
    def dead_letter_groups() -> Response:
        read_query()
        answer: DeadLetterGroups = {"groups": [*source.ask(lambda live: live.operator.dead_letter_groups())]}
        return json_answer(answer)

    @api.get("/live/dead-letters/<group>")
    def dead_letters(group: str) -> Response:
        start, count = read_query(
            Field("start", "integer", 0, INT64_MAX, default=None), Field("count", "integer", 1, PAGE_MAX, default=PAGE)
        ).values()
        read_part(_GROUP, group)
        page = source.ask(lambda live: live.operator.dead_letters(group, start, count))
        return _no_such_group(group) if page is None else json_answer(page)

    @api.post("/live/dead-letters/<group>/resend")
    def resend_dead_letters(group: str) -> Response:
        read_part(_GROUP, group)
        resend = _read_request()
        report = source.ask(lambda live: live.operator.resend_dead_letters(group, resend))
        return _no_such_group(group) if report is None else json_answer(report)


def _no_such_group(group: str) -> Response:
    return refusal_answer(in_all_languages("api.no_dead_letters", group=shown(group)), 404)


def _read_request() -> ResendRequest:
    """Read the current request. Raises :class:`FieldRefused`."""
    body = json_body()
    is_all = isinstance(body, dict) and body.get("messages") == "all"
    messages, to, anyway, start = read_fields((_ALL if is_all else _MESSAGES, *_HOW), body).values()
    if is_all and anyway:
        raise FieldRefused("anyway", "all would be sent again and again", "anyway with named messages only")
    return ResendRequest(None, to, start=start) if is_all else ResendRequest(messages, to, anyway=anyway)
