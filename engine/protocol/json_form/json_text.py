r"""JSON as RocketMQ writes it with fastjson: not always JSON.

Two habits go beyond the standard. Maps with integer keys have them unquoted (``{0:"127.0.0.1:10911"}``), and maps whose
keys are objects have the object itself as key::

    {"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:{"maxOffset":3}, ...}}

Clients (mqadmin above all) send the like and expect it. Standard text takes the fast way; only text that the JSON
library refuses is read by the tolerant parser here.
"""

from __future__ import annotations

import json
from typing import Any

from engine.protocol.errors import MalformedBody
from engine.protocol.json_form import json_library

#: Bodies nested deeper than this are refused: no RocketMQ body comes near it.
_MAX_DEPTH = 64
_WHITESPACE = " \t\r\n"
_LITERAL_END = ",:]}" + _WHITESPACE
_LITERALS: dict[str, object] = {"true": True, "false": False, "null": None}


class ObjectKeyMap:
    """A map whose keys are JSON objects: ``pairs`` of (key, value), written as ``{{...}:value}``."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[dict[str, object], object]] | None = None) -> None:
        self.pairs: list[tuple[dict[str, object], object]] = pairs if pairs is not None else []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectKeyMap) and self.pairs == other.pairs

    __hash__ = None  # type: ignore[assignment]  # mutable, like a dict

    def __repr__(self) -> str:
        return f"ObjectKeyMap({self.pairs!r})"


def dumps_json(value: object) -> bytes:
    """``value`` as compact JSON with sorted keys; :class:`ObjectKeyMap` anywhere inside is written fastjson's way."""
    try:
        return json_library.dumps_sorted(value)
    except TypeError:
        return _dumps_with_object_keys(value).encode()


def dumps_pretty_json(value: object) -> bytes:
    """``value`` as indented JSON for files that people read."""
    return json_library.dumps_pretty(value)


def _dumps_with_object_keys(value: object) -> str:
    if isinstance(value, ObjectKeyMap):
        pairs = (f"{_dumps_with_object_keys(key)}:{_dumps_with_object_keys(item)}" for key, item in value.pairs)
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, dict):
        entries = (f"{json.dumps(str(key))}:{_dumps_with_object_keys(value[key])}" for key in sorted(value))
        return "{" + ",".join(entries) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_dumps_with_object_keys(item) for item in value) + "]"
    return json_library.dumps(value).decode()


def loads_json(data: bytes) -> Any:
    """The value in ``data``; integer keys become strings, object keys an :class:`ObjectKeyMap`.

    Raises :class:`MalformedBody` with the position.
    """
    try:
        return json_library.loads(data)
    except ValueError:
        pass
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise MalformedBody(f"the JSON is not UTF-8: {error}") from error
    return _TolerantParser(text).parse()


def loads_json_object(data: bytes, what: str) -> dict[str, Any]:
    """As :func:`loads_json`, for a body that must be an object; ``what`` names it in the error."""
    value = loads_json(data)
    if not isinstance(value, dict):
        raise MalformedBody(f"{what} must be a JSON object, got {type(value).__name__}")
    return value


class _TolerantParser:
    """A recursive-descent parser for JSON plus fastjson's two habits."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> Any:
        value = self._value()
        self._skip()
        if self._at != len(self._text):
            raise self._error("text after the end")
        return value

    def _error(self, what: str) -> MalformedBody:
        return MalformedBody(f"the JSON cannot be read at position {self._at}: {what}")

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _WHITESPACE:
            self._at += 1

    def _peek(self) -> str:
        self._skip()
        return self._text[self._at] if self._at < len(self._text) else ""

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise self._error(f"{character!r} expected")
        self._at += 1

    def _value(self) -> Any:
        character = self._peek()
        if character not in ("{", "["):
            return self._scalar(character)
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"nested deeper than {_MAX_DEPTH}")
        value = self._object() if character == "{" else self._array()
        self._depth -= 1
        return value

    def _scalar(self, character: str) -> Any:
        if character == '"':
            try:
                value, self._at = json.JSONDecoder().raw_decode(self._text, self._at)
                value.encode()  # a lone surrogate could never be sent to anybody again
            except ValueError as error:
                raise self._error("a string does not end, or holds a lone surrogate") from error
            return value
        start = self._at
        while self._at < len(self._text) and self._text[self._at] not in _LITERAL_END:
            self._at += 1
        word = self._text[start : self._at]
        if word in _LITERALS:
            return _LITERALS[word]
        try:
            return json_library.loads(word)
        except ValueError as error:
            raise self._error(f"{word[:20]!r} is no value") from error

    def _array(self) -> list[Any]:
        self._expect("[")
        items: list[Any] = []
        while self._peek() != "]":
            if items:
                self._expect(",")
            items.append(self._value())
        self._at += 1
        return items

    def _object(self) -> dict[str, Any] | ObjectKeyMap:
        self._expect("{")
        plain: dict[str, Any] = {}
        keyed: list[tuple[dict[str, object], object]] = []
        while self._peek() != "}":
            if plain or keyed:
                self._expect(",")
            key = self._value()
            self._expect(":")
            value = self._value()
            if isinstance(key, dict):
                keyed.append((key, value))
            elif isinstance(key, str | int | float):
                plain[str(key)] = value
            else:
                raise self._error("a key must be a string, a number or an object")
        self._at += 1
        if keyed and plain:
            raise self._error("object keys and plain keys in one map")
        return ObjectKeyMap(keyed) if keyed else plain
