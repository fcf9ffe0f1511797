"""An operator's requests over HTTP: what the live page's forms send. The answers: :mod:`app.picture.live.operator`.

Refused: 400 for an invalid field, else 409; then nothing has happened, or the text says what. As with
app/live/transaction_routes.py, pages of other sites cannot send these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response

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
from app.picture.live.operator import RefusedReset
from app.web.api import json_answer, refusal_answer
from app.web.api_parameters import read_json
from app.web.live_source import LiveSource
from engine.fields.field import EXACT_MAX, Field
from engine.fields.refusal import FieldRefused, shown
from engine.protocol.names import is_dlq_topic, is_retry_topic, validate_group, validate_topic
from engine.texts import Text

_KEYS_MAX = 16
_KEY_MAX = 255


def _says(field: str, **values: object) -> Mapping[str, str]:
    return in_all_languages("operate.field_" + field, **values)


def _number(name: str, low: int, high: int, default: int | None) -> Field:
    return Field(name, "integer", low, high, default, says=_says("number", name=name, least=low, most=high))


def _check_body(text: str) -> None:
    if (length := len(text.encode())) > BODY_BYTES_MAX:
        raise ValueError(f"has {length} bytes")


def _check_key(text: str) -> None:
    if not text.isprintable() or any(character.isspace() for character in text):
        raise ValueError(f"{shown(text)} is not one word")


def _check_tag(text: str) -> None:
    if text:  # a form sends an empty one for none
        _check_key(text)
    if "||" in text:
        raise ValueError(f"{shown(text)} is not one tag")


_TOPIC = Field("topic", "text", 1, 255, check=validate_topic, says=_says("topic"))
_NEW_TOPIC = (_TOPIC, _number("queues", 1, QUEUES_MAX, 4))
_MESSAGE = (
    _TOPIC,
    Field("body", "text", 1, BODY_BYTES_MAX, check=_check_body, says=_says("body", most=BODY_BYTES_MAX)),
    Field("tag", "text", 0, _KEY_MAX, default=None, check=_check_tag, says=_says("tag", most=_KEY_MAX)),
    Field(
        "keys",
        "names",
        0,
        _KEYS_MAX,
        default=(),
        each=_KEY_MAX,
        check=_check_key,
        says=_says("keys", most=_KEYS_MAX, longest=_KEY_MAX),
    ),
    _number("delay_level", 0, DELAY_LEVEL_MAX, 0),
)
_PLACES = (
    _number("time_ms", 0, EXACT_MAX, None),
    _number("queue_id", 0, QUEUES_MAX, None),
    _number("offset", 0, EXACT_MAX, None),
)
_RESET = (
    Field("group", "text", 1, 255, check=validate_group, says=_says("group")),
    _TOPIC,
    Field("to", "choice", allowed=tuple(ResetTarget), says=_says("to")),
    *_PLACES,
    Field("preview", "switch", default=False),
)
#: Target -> the fields that it needs.
_NEEDED = {ResetTarget.TIME: ("time_ms",), ResetTarget.OFFSET: ("queue_id", "offset")}


def add_operator_routes(api: Blueprint, source: LiveSource) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`, whose error handling they use."""

    @api.post("/live/topics")
    def create_topic() -> Response:
        request = TopicRequest(**_own_topic(read_json(*_NEW_TOPIC)))
        return json_answer(source.ask(lambda live: live.operator.carry_out(request)))

    @api.post("/live/messages")
    def send_message() -> Response:
        read = _own_topic(read_json(*_MESSAGE))
        request = SendMessageRequest(**{**read, "tag": read["tag"] or None})
        return json_answer(source.ask(lambda live: live.operator.carry_out(request)))

    @api.post("/live/offsets")
    def reset_offsets() -> Response:
        request = _reset_request(read_json(*_RESET))
        try:
            return json_answer(source.ask(lambda live: live.operator.carry_out(request)))
        except OperationRefused as refused:
            if not request.preview:
                raise
            answer: RefusedReset = {"refused": dict(refused.text)}
            return json_answer(answer)

    @api.errorhandler(OperationRefused)
    def refused(error: OperationRefused) -> Response:
        return refusal_answer(error.text, 409)


def _reset_request(read: dict[str, Any]) -> ResetOffsetRequest:
    target = read.pop("to")
    for field in _PLACES:
        if read[field.name] is None:
            if field.name in _NEEDED.get(target, ()):
                raise field.refused(field.name, Text("field.missing"))
            read[field.name] = 0
    return ResetOffsetRequest(place=target, **read)


def _own_topic(read: dict[str, Any]) -> dict[str, Any]:
    """Refuse a topic that holds a group's retries or dead letters: only the broker creates and writes those."""
    topic = read["topic"]
    if is_retry_topic(topic) or is_dlq_topic(topic):
        says = _says("own_topic")
        raise FieldRefused("topic", f"{shown(topic)} is written by the broker", says, says)
    return read
