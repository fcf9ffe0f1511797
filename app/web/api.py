"""The HTTP API of the live page: JSON for the page and for scripts. The modules ``app/live/*_routes.py`` add the
requests that change something; all others only read.

``docs/operating/http-api.md`` lists all routes. Every error is JSON too: :mod:`app.picture.refusal`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

from flask import Blueprint, Response

from app.foundation.json_text import dump_json
from app.foundation.translator import in_all_languages
from app.observation.record_view import queue_entry_view, record_view
from app.remote.messages_by_time import QUEUES_MAX, check_place
from app.web.api_parameters import INT64_MAX, read_part, read_query
from engine.fields.field import Field
from engine.fields.refusal import FieldRefused, shown
from engine.protocol.message.message_id import decode_offset_message_id
from engine.runtime.live.engine_thread import EngineUnavailable

if TYPE_CHECKING:
    from app.picture.message_life import FoundStoredLives
    from app.picture.rates import History, SecondLists
    from app.picture.record import FoundMessages, QueueEntries, RecordSummary
    from app.picture.refusal import RefusedRequest
    from app.web.live_source import LiveSource

#: Messages that one search returns at most, and the default.
SEARCH_LIMIT_MAX = 64
SEARCH_LIMIT = 32
#: Consume-queue entries that one request returns at most.
ENTRIES_MAX = 200

#: Seconds since 1970: the year 5138.
_SECOND_MAX = 10**11
_TOPIC = Field("topic", "text", 1, 255)
_TOPIC_OR_ANY = Field("topic", "text", 1, 255, default=None)
_KEY_MAX = 1024
#: A search by time; milliseconds since 1970. ``before``: what the page before this one returned.
_SPAN = (
    Field("from", "integer", 0, 1_000 * _SECOND_MAX),
    Field("to", "integer", 0, 1_000 * _SECOND_MAX),
    Field("queue", "integer", 0, 2**31 - 1, default=None),
    Field("count", "integer", 1, ENTRIES_MAX, default=50),
    Field("before", "names", 1, QUEUES_MAX, default=None, each=30, check=check_place),
)


def json_answer(value: object, status: int = 200) -> Response:
    """Return ``value`` as a JSON response that must not be cached."""
    return Response(dump_json(value), status=status, mimetype="application/json", headers={"Cache-Control": "no-store"})


def refusal_answer(text: Mapping[str, str], status: int) -> Response:
    """Return a refusal with its text in each language; ``error`` is the English one."""
    refused: RefusedRequest = {"error": text["en"], "text": dict(text)}
    return json_answer(refused, status)


def create_api(source: LiveSource) -> Blueprint:
    """Return the blueprint with all ``/api`` routes over ``source``."""
    api = Blueprint("api", __name__, url_prefix="/api")

    @api.get("/live/state")
    def live_state() -> Response:
        read_query()
        return json_answer(source.state())

    @api.get("/live/brokers")
    def live_brokers() -> Response:
        read_query()
        return json_answer(source.brokers())

    @api.get("/live/history")
    def live_history() -> Response:
        return json_answer(_history(source))

    @api.get("/live/topics")
    def topics() -> Response:
        text = read_query(Field("text", "text", 1, 255, strip=True))["text"]
        return json_answer(source.ask(lambda live: live.state.topics.find(text)))

    @api.get("/messages")
    def messages() -> Response:
        found: FoundMessages = {"messages": _search(source)}
        return json_answer(found)

    @api.get("/messages/trail")
    def message_trail() -> Response:
        name, topic = read_query(Field("name", "text", 1, _KEY_MAX, strip=True), _TOPIC_OR_ANY).values()
        found: FoundStoredLives = {"messages": source.ask(lambda live: live.trails(name, topic))()}
        return json_answer(found)

    @api.get("/messages/at/<offset>")
    def message_at(offset: str) -> Response:
        read_query()
        position = read_part(Field("offset", "integer", 0, INT64_MAX), offset)
        raw = source.ask(lambda live: live.operator.record_at(position))
        if raw is None:
            return refusal_answer(in_all_languages("api.no_message", offset=position), 404)
        return json_answer(record_view(raw))

    _add_topic_routes(api, source)

    @api.errorhandler(EngineUnavailable)
    def engine_unavailable(error: EngineUnavailable) -> Response:
        return refusal_answer(in_all_languages("api.unavailable", why=error), 503)

    return api


def _add_topic_routes(api: Blueprint, source: LiveSource) -> None:
    @api.get("/topics/<topic>/messages")
    def topic_messages(topic: str) -> Response:
        read_part(_TOPIC, topic)
        first, last, queue_id, count, before = read_query(*_SPAN).values()
        if first > last:
            raise FieldRefused("from", f"{first} is later than to", f"at most {last}")
        page = source.ask(lambda live: live.operator.by_time(topic, queue_id, (first, last), before, count))
        if page is None:
            return _no_queue(topic, queue_id)
        return json_answer(page)

    @api.get("/topics/<topic>/queues/<queue_id>/entries")
    def queue_entries(topic: str, queue_id: str) -> Response:
        page = read_query(
            Field("start", "integer", 0, INT64_MAX, default=0), Field("count", "integer", 1, ENTRIES_MAX, default=50)
        )
        number = read_part(Field("queue_id", "integer", 0, 2**31 - 1), queue_id)
        read_part(_TOPIC, topic)
        entries = source.ask(lambda live: live.operator.queue_entries(topic, number, page["start"], page["count"]))
        if entries is None:
            return _no_queue(topic, number)
        answer: QueueEntries = {"start": page["start"], "entries": [queue_entry_view(entry) for entry in entries]}
        return json_answer(answer)


def _no_queue(topic: str, queue_id: int | None) -> Response:
    key = "api.no_queues" if queue_id is None else "api.no_queue"
    return refusal_answer(in_all_languages(key, topic=shown(topic), queue=queue_id), 404)


def _history(source: LiveSource) -> SecondLists | History:
    """Return the history of the seconds ``from`` to ``to`` (by default: now); without ``from`` the last ten minutes,
    second by second, and without the events.
    """
    seconds = [Field(name, "integer", 0, _SECOND_MAX, default=None) for name in ("from", "to")]
    first, last = read_query(*seconds).values()
    if first is None:
        return source.history()
    if last is not None and first > last:
        raise FieldRefused("from", f"{first} is later than to", f"at most {last}")
    # A copy costs the engine a millisecond; rendering a day of it may take twenty of them.
    last = _SECOND_MAX if last is None else last
    history, events = source.ask(
        lambda live: (copy.deepcopy(live.watcher.history), live.watcher.events.between(first, last))
    )
    return {**history.between(first, last), "events": events}


def _search(source: LiveSource) -> list[RecordSummary]:
    checks = {"key": None, "unique_id": None, "offset_message_id": decode_offset_message_id}
    keys = [Field(name, "text", 1, _KEY_MAX, default=None, strip=True, check=check) for name, check in checks.items()]
    read = read_query(_TOPIC_OR_ANY, *keys, Field("limit", "integer", 1, SEARCH_LIMIT_MAX, default=SEARCH_LIMIT))
    wanted = [name for name in checks if read[name] is not None]
    if len(wanted) != 1:
        problem = "give one of them" if not wanted else f"{' and '.join(wanted)} were given together"
        raise FieldRefused(", ".join(checks), problem, "topic and key, or unique_id, or offset_message_id")
    topic, limit, text = read["topic"], read["limit"], read[wanted[0]]
    match wanted[0]:
        case "key":
            if topic is None:
                raise FieldRefused("topic", "is missing", "the topic whose messages carry the key")
            return source.ask(lambda live: live.operator.by_key(topic, text, limit))
        case "unique_id":
            return source.ask(lambda live: live.operator.by_unique_id(text, topic, limit))
        case _:
            return source.ask(lambda live: live.operator.by_offset_id(text))
