"""Dead letters over HTTP: the list of the live page, and the requests of its buttons.

    GET  /api/live/dead-letters                   {"groups": [...]}
    GET  /api/live/dead-letters/<group>           {"group": {...}, "messages": [...]}; ?start=&count=: from which
                                                  number on (by default the newest ones), oldest first
    POST /api/live/dead-letters/<group>/resend    {"messages": [ids] | "all", "to": "topic" | "group", "anyway": false}

The shapes: app/remote/dead_letters_view.py. ``to`` selects the receivers: every group that subscribes to the first
topic, or only the group that failed. Messages that were resent before are left alone, unless they are named and
``anyway`` is true. "all" works 200 at a time: the answer's ``next`` goes back as ``start``. Each message that cannot be
resent is in the answer, with the reason in both languages; 404: there is no such group.

The gate and the JSON rule of app/live/transaction_routes.py keep other sites' pages from sending these.
"""

from __future__ import annotations

from flask import Blueprint, Response, request

from app.foundation.operator_requests import ResendRequest
from app.remote.remote_dead_letters import RESEND_MAX
from app.web.api import json_answer
from app.web.api_parameters import BadParameter, only_known, read_json_object, short_text, shown, whole_number
from app.web.live_source import LiveSource
from engine.broker.delivery.dead_letter import ResendTo
from engine.protocol.message.message_properties import KEY_SEPARATOR

#: Dead letters that one page lists.
PAGE_MAX = 100
PAGE = 20
_GROUP_MAX = 255
_NAME_MAX = 1024


def add_dead_letter_routes(api: Blueprint, source: LiveSource) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`, whose error handling they use."""

    @api.get("/live/dead-letters")
    def dead_letter_groups() -> Response:
        only_known(request.args, ())
        return json_answer({"groups": [*source.ask(lambda live: live.operator.dead_letter_groups())]})

    @api.get("/live/dead-letters/<group>")
    def dead_letters(group: str) -> Response:
        only_known(request.args, ("start", "count"))
        start = whole_number("start", request.args["start"], 0) if "start" in request.args else None
        count = whole_number("count", request.args.get("count", str(PAGE)), 1, PAGE_MAX)
        short_text("group", group, _GROUP_MAX)
        page = source.ask(lambda live: live.operator.dead_letters(group, start, count))
        return _no_such_group(group) if page is None else json_answer(page)

    @api.post("/live/dead-letters/<group>/resend")
    def resend_dead_letters(group: str) -> Response:
        short_text("group", group, _GROUP_MAX)
        resend = _read_request()
        report = source.ask(lambda live: live.operator.resend_dead_letters(group, resend))
        return _no_such_group(group) if report is None else json_answer(report)


def _no_such_group(group: str) -> Response:
    return json_answer({"error": f"group {shown(group)} has no dead letters here"}, 404)


def _read_request() -> ResendRequest:
    """Read the current request. Raises :class:`BadParameter`."""
    example = '{"messages": ["..."] or "all", "to": "topic" or "group"}'
    body = read_json_object(("messages", "to", "anyway", "start"), example)
    to = body.get("to")
    if to not in list(ResendTo):
        raise BadParameter(
            "to", "it is missing" if to is None else f"{shown(str(to))} is not valid", ", ".join(ResendTo)
        )
    anyway, start = body.get("anyway", False), body.get("start", 0)
    if not isinstance(anyway, bool):
        raise BadParameter("anyway", f"{shown(str(anyway))} is not valid", "true or false")
    if not isinstance(start, int) or isinstance(start, bool) or not 0 <= start < 2**63:
        raise BadParameter("start", f"{shown(str(start))} is not valid", 'a number, with messages "all"')
    messages = body.get("messages")
    if messages == "all":
        if anyway:
            raise BadParameter("anyway", "all would be sent again and again", "anyway with named messages only")
        return ResendRequest(None, ResendTo(to), start=start)
    return ResendRequest(_names(messages), ResendTo(to), anyway=anyway)


def _names(messages: object) -> tuple[str, ...]:
    allowed = f'"all", or a list of 1 to {RESEND_MAX} message ids or keys'
    if not isinstance(messages, list):
        raise BadParameter("messages", "it is missing or not a list", allowed)
    if not 1 <= len(messages) <= RESEND_MAX:
        raise BadParameter("messages", f"there are {len(messages)}", allowed)
    for name in messages:
        if not isinstance(name, str):
            raise BadParameter("messages", f"{shown(str(name))} is not a string", allowed)
    return tuple(short_text("messages", name.strip(KEY_SEPARATOR), _NAME_MAX) for name in messages)
