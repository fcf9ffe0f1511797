"""The HTTP API of the live page: JSON for the page and for scripts. The modules ``app/live/*_routes.py`` add the
requests that change something; all others only read.

Every error is JSON too: ``{"error": ...}``, for bad parameters with ``parameter``, ``problem`` and ``allowed``.
"""

from __future__ import annotations

from flask import Blueprint, Response, request
from werkzeug.exceptions import HTTPException

from app.foundation.json_text import dump_json
from app.foundation.json_types import JsonObject, JsonValue
from app.foundation.live_source import LiveSource
from app.observation.record_view import queue_entry_view, record_view
from app.web.api_parameters import BadParameter, only_known, short_text, shown, whole_number
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message_id import decode_offset_message_id
from engine.protocol.message.message_properties import KEY_SEPARATOR
from engine.runtime.live.engine_thread import EngineUnavailable

#: Messages that one search returns at most, and the default.
SEARCH_LIMIT_MAX = 64
SEARCH_LIMIT = 32
#: Consume-queue entries that one request returns at most.
ENTRIES_MAX = 200

#: Seconds since 1970: the year 5138.
_SECOND_MAX = 10**11
_TOPIC_MAX = 255
_KEY_MAX = 1024


def json_answer(value: object, status: int = 200) -> Response:
    """Return ``value`` as a JSON response that must not be cached."""
    return Response(dump_json(value), status=status, mimetype="application/json", headers={"Cache-Control": "no-store"})


def create_api(source: LiveSource) -> Blueprint:
    """Return the blueprint with all ``/api`` routes over ``source``."""
    api = Blueprint("api", __name__, url_prefix="/api")

    @api.get("/live/state")
    def live_state() -> Response:
        only_known(request.args, ())
        return json_answer(source.state())

    @api.get("/live/history")
    def live_history() -> Response:
        return json_answer(_history(source, request.args.to_dict()))

    @api.get("/live/topics")
    def topics() -> Response:
        only_known(request.args, ("text",))
        return json_answer(source.topics_with(short_text("text", request.args.get("text", "").strip(), _TOPIC_MAX)))

    @api.get("/messages")
    def messages() -> Response:
        return json_answer({"messages": _as_list(_search(source, request.args.to_dict()))})

    @api.get("/messages/trail")
    def message_trail() -> Response:
        only_known(request.args, ("name", "topic"))
        name = short_text("name", request.args.get("name", "").strip(KEY_SEPARATOR), _KEY_MAX)
        topic = request.args.get("topic")
        if topic is not None:
            short_text("topic", topic, _TOPIC_MAX)
        return json_answer({"messages": [*source.message_trails(name, topic)]})

    @api.get("/messages/at/<offset>")
    def message_at(offset: str) -> Response:
        only_known(request.args, ())
        position = whole_number("offset", offset, 0)
        raw = source.record_at(position)
        if raw is None:
            return json_answer({"error": f"no message starts at commit log offset {position}"}, 404)
        return json_answer(record_view(raw))

    @api.get("/topics/<topic>/queues/<queue_id>/entries")
    def queue_entries(topic: str, queue_id: str) -> Response:
        only_known(request.args, ("start", "count"))
        number = whole_number("queue_id", queue_id, 0, 2**31 - 1)
        start = whole_number("start", request.args.get("start", "0"), 0)
        count = whole_number("count", request.args.get("count", "50"), 1, ENTRIES_MAX)
        entries = source.queue_entries(short_text("topic", topic, _TOPIC_MAX), number, start, count)
        if entries is None:
            return json_answer({"error": f"topic {shown(topic)} has no queue {number} here"}, 404)
        return json_answer({"start": start, "entries": [queue_entry_view(entry) for entry in entries]})

    @api.errorhandler(EngineUnavailable)
    def engine_unavailable(error: EngineUnavailable) -> Response:
        return json_answer({"error": str(error)}, 503)

    return api


def http_error_answer(error: HTTPException) -> Response:
    """Return the JSON answer for an unknown address or method below ``/api``."""
    return json_answer({"error": f"{error.code} {error.name}: {request.method} {request.path}"}, error.code or 500)


def _history(source: LiveSource, parameters: dict[str, str]) -> JsonObject:
    """Return the history of the seconds ``from`` to ``to`` (by default: now); without ``from`` the last ten minutes,
    second by second.
    """
    only_known(parameters, ("from", "to"))
    if "from" not in parameters:
        return source.history()
    first = whole_number("from", parameters["from"], 0, _SECOND_MAX)
    last = whole_number("to", parameters.get("to", str(_SECOND_MAX)), 0, _SECOND_MAX)
    if first > last:
        raise BadParameter("from", f"{first} is later than to", f"at most {last}")
    return source.history_between(first, last)


def _as_list(summaries: list[JsonObject]) -> list[JsonValue]:
    return [*summaries]


def _search(source: LiveSource, parameters: dict[str, str]) -> list[JsonObject]:
    only_known(parameters, ("topic", "key", "unique_id", "offset_message_id", "limit"))
    limit = whole_number("limit", parameters.get("limit", str(SEARCH_LIMIT)), 1, SEARCH_LIMIT_MAX)
    wanted = [name for name in ("key", "unique_id", "offset_message_id") if name in parameters]
    if len(wanted) != 1:
        problem = "give one of them" if not wanted else f"{' and '.join(wanted)} were given together"
        raise BadParameter(
            "key, unique_id, offset_message_id", problem, "topic and key, or unique_id, or offset_message_id"
        )
    topic = parameters.get("topic")
    if topic is not None:
        short_text("topic", topic, _TOPIC_MAX)
    text = short_text(wanted[0], parameters[wanted[0]].strip(KEY_SEPARATOR), _KEY_MAX)
    match wanted[0]:
        case "key":
            if topic is None:
                raise BadParameter("topic", "it is missing", "the topic whose messages carry the key")
            return source.find_by_key(topic, text, limit)
        case "unique_id":
            return source.find_by_unique_id(text, topic, limit)
        case _:
            return _find_by_offset_id(source, text)


def _find_by_offset_id(source: LiveSource, text: str) -> list[JsonObject]:
    try:
        _, offset = decode_offset_message_id(text)
    except (ProtocolError, ValueError) as error:
        raise BadParameter(
            "offset_message_id", f"{shown(text)} is not valid: {error}", "32 hexadecimal digits (56 for IPv6)"
        ) from None
    raw = source.record_at(offset) if offset >= 0 else None
    if raw is None:
        return []
    return [{**record_view(raw)["record"]}]
