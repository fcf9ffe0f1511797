"""An operator's requests over HTTP: what the live page's forms send.

    POST /api/live/topics     {"topic", "queues"}: a new topic; its ``topic`` and ``queues``
    POST /api/live/messages   {"topic", "body", "tag", "keys": [...], "delay_level"}: one message; where it is stored:
                              ``topic``, ``queue_id``, ``offset``, ``id`` (all but topic and body may be missing)
    POST /api/live/offsets    {"group", "topic", "to": "earliest" | "latest" | "time" | "offset", "time_ms", "queue_id",
                              "offset", "preview"}: the position from which a group continues; the effect (of a
                              ``preview``: what it would be): messages it gets ``again`` and that are ``skipped``,
                              ``first_ms`` (store time of the oldest one it gets next), ``is_online`` (its members do
                              it, within 10 s), ``queues`` (``queue_id``, ``old``, ``new`` and ``stored``, as read back
                              from the broker). A preview of what would be refused says why: ``refused`` ({en, zh})

Refused: ``{"error", "text": {en, zh}}``, 400 for an invalid field (with ``parameter`` and ``allowed``), else 409; then
nothing has happened, or the text says what. As with app/live/transaction_routes.py, pages of other sites cannot send
these.
"""

from __future__ import annotations

from flask import Blueprint, Response

from app.foundation.json_types import JsonObject
from app.foundation.operator_requests import (
    BODY_BYTES_MAX,
    DELAY_LEVEL_MAX,
    QUEUES_MAX,
    OperationRefused,
    ResetOffsetRequest,
    ResetTarget,
    SendMessageRequest,
    TopicRequest,
)
from app.foundation.translator import in_all_languages
from app.web.api import json_answer
from app.web.api_parameters import BadParameter, read_json_object, shown
from app.web.live_source import LiveSource
from engine.protocol.errors import ProtocolError
from engine.protocol.names import is_dlq_topic, is_retry_topic, validate_group, validate_topic

_KEYS_MAX = 16
_KEY_MAX = 255
_TIME_MAX = 2**53
_OFFSET_MAX = 2**53


class BadField(BadParameter):
    """A field of a form is invalid; what is allowed is in both languages."""

    def __init__(self, field: str, problem: str, text: str | None = None, **values: object) -> None:
        """Make the error. ``text``: the key of the text about what is allowed, where it is not that of the field."""
        allowed = in_all_languages("operate.field_" + (text or field), **values)
        super().__init__(field, problem, allowed["en"], allowed)


def add_operator_routes(api: Blueprint, source: LiveSource) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`, whose error handling they use."""

    @api.post("/live/topics")
    def create_topic() -> Response:
        body = read_json_object(("topic", "queues"), '{"topic": "orders", "queues": 4}')
        request = TopicRequest(_own_topic(body), _number(body, "queues", 1, QUEUES_MAX, 4))
        return json_answer(source.ask(lambda live: live.operator.carry_out(request)))

    @api.post("/live/messages")
    def send_message() -> Response:
        body = read_json_object(("topic", "body", "tag", "keys", "delay_level"), '{"topic": "orders", "body": "hello"}')
        delay_level = _number(body, "delay_level", 0, DELAY_LEVEL_MAX, 0)
        request = SendMessageRequest(_own_topic(body), _body(body), _tag(body), _keys(body), delay_level)
        return json_answer(source.ask(lambda live: live.operator.carry_out(request)))

    @api.post("/live/offsets")
    def reset_offsets() -> Response:
        known = ("group", "topic", "to", "time_ms", "queue_id", "offset", "preview")
        body = read_json_object(known, '{"group": "billing", "topic": "orders", "to": "earliest"}')
        request = _reset_request(body)
        try:
            return json_answer(source.ask(lambda live: live.operator.carry_out(request)))
        except OperationRefused as refused:
            if not request.preview:
                raise
            return json_answer({"refused": dict(refused.text)})

    @api.errorhandler(OperationRefused)
    def refused(error: OperationRefused) -> Response:
        return json_answer({"error": str(error), "text": dict(error.text)}, 409)


def _reset_request(body: JsonObject) -> ResetOffsetRequest:
    to = body.get("to")
    if not isinstance(to, str) or to not in list(ResetTarget):
        raise BadField("to", f"{shown(str(to))} is not valid")
    preview = body.get("preview", False)
    if not isinstance(preview, bool):
        raise BadParameter("preview", f"{shown(str(preview))} is not valid", "true or false")
    return ResetOffsetRequest(
        _group(body),
        _topic(body),
        ResetTarget(to),
        _number(body, "time_ms", 0, _TIME_MAX, None if to == ResetTarget.TIME else 0),
        _number(body, "queue_id", 0, QUEUES_MAX, None if to == ResetTarget.OFFSET else 0),
        _number(body, "offset", 0, _OFFSET_MAX, None if to == ResetTarget.OFFSET else 0),
        preview,
    )


def _topic(body: JsonObject) -> str:
    topic = body.get("topic")
    if not isinstance(topic, str):
        raise BadField("topic", "it is missing or not a string")
    try:
        validate_topic(topic)
    except ProtocolError as error:
        raise BadField("topic", str(error)) from None
    return topic


def _own_topic(body: JsonObject) -> str:
    """Return a topic that does not hold a group's retries or dead letters: only the broker creates and writes those."""
    topic = _topic(body)
    if is_retry_topic(topic) or is_dlq_topic(topic):
        raise BadField("topic", f"{shown(topic)} is written by the broker", "own_topic")
    return topic


def _group(body: JsonObject) -> str:
    group = body.get("group")
    if not isinstance(group, str):
        raise BadField("group", "it is missing or not a string")
    try:
        validate_group(group)
    except ProtocolError as error:
        raise BadField("group", str(error)) from None
    return group


def _body(body: JsonObject) -> str:
    text = body.get("body")
    if not isinstance(text, str) or not text:
        raise BadField("body", "it is missing, empty or not a string", most=BODY_BYTES_MAX)
    try:
        length = len(text.encode())
    except UnicodeEncodeError:
        raise BadField("body", "it is not UTF-8 text", most=BODY_BYTES_MAX) from None
    if length > BODY_BYTES_MAX:
        raise BadField("body", f"it has {length} bytes", most=BODY_BYTES_MAX)
    return text


def _tag(body: JsonObject) -> str | None:
    tag = body.get("tag")
    if tag is None or tag == "":
        return None
    if not isinstance(tag, str) or "||" in tag or not _is_word(tag):
        raise BadField("tag", f"{shown(str(tag))} is not valid", most=_KEY_MAX)
    return tag


def _keys(body: JsonObject) -> tuple[str, ...]:
    keys = body.get("keys")
    if keys is None:
        return ()
    if not isinstance(keys, list) or len(keys) > _KEYS_MAX:
        raise BadField("keys", "they are not a list, or too many", most=_KEYS_MAX, longest=_KEY_MAX)
    words = [key for key in keys if isinstance(key, str) and _is_word(key)]
    if len(words) != len(keys):
        raise BadField("keys", "one of them is not a word", most=_KEYS_MAX, longest=_KEY_MAX)
    return tuple(words)


def _is_word(text: str) -> bool:
    """Return whether the text has no blanks and no separators of properties."""
    return 1 <= len(text) <= _KEY_MAX and text.isprintable() and not any(character.isspace() for character in text)


def _number(body: JsonObject, name: str, least: int, most: int, default: int | None) -> int:
    value = body.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        problem = "it is missing" if value is None else f"{shown(str(value))} is not valid"
        raise BadField(name, problem, "number", name=name, least=least, most=most)
    return value
