r"""JSON as RocketMQ writes and reads it with fastjson: not always JSON.

Its output departs from the standard in two ways. Maps with integer keys have them unquoted (``{0:"127.0.0.1:10911"}``),
and maps whose keys are objects have the object itself as key::

    {"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:{"maxOffset":3}, ...}}

Clients (mqadmin above all) send this and expect it. fastjson 1.2.69 also reads the following, so clients in other
languages send it without noticing: bytes that are not UTF-8 (each wrong one is U+FFFD), a byte order mark, control
characters in strings, single quotes, unquoted names, commas too many, comments, ``\x41`` and ``\0``, half a surrogate
pair (``?``, as Java writes it), ``NaN`` and ``undefined`` (null), and NULs after the end.

Standard text is read by the JSON library; only text that it refuses is read by the tolerant parser here. This parser
takes 2 to 7 us per value and is therefore bounded; callers that read a file, or a master's reply, lift the bound.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from engine.protocol.errors import MalformedBody
from engine.protocol.java_text import java_text
from engine.protocol.json_form import json_library

#: The maximum nesting of bodies; no RocketMQ body comes near it.
_MAX_DEPTH = 64
#: The maximum number of keys, values and escapes in text that is not standard JSON, half a second's work: a body of 16
#: MiB would block all connections for half a minute. The map of 10,000 queues that Java writes with objects as keys has
#: 140,000.
TOLERANT_VALUES_MAX: Final = 200_000
#: Blanks and comments; with them, commas.
_SKIPPED: Final = re.compile(r"(?:[ \t\r\n\f\b]|/\*.*?(?:\*/|\Z)|//[^\n]*)*+", re.DOTALL)
_SKIPPED_COMMAS: Final = re.compile(r"(?:[ \t\r\n\f\b,]|/\*.*?(?:\*/|\Z)|//[^\n]*)*+", re.DOTALL)
_STRINGS: Final = {
    quote: re.compile(rf"{quote}([^{quote}\\]*+(?:\\.[^{quote}\\]*+)*+){quote}", re.DOTALL) for quote in "\"'"
}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED: Final = dict(zip("btnvfFr\"'/\\01234567", "\b\t\n\v\f\f\r\"'/\\\0\1\2\3\4\5\6\7", strict=True))
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WORD: Final = re.compile(r"[^,:\[\]{}\"'\s/]*")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_LITERALS: Final[dict[str, object]] = {"true": True, "false": False, "null": None, "NaN": None, "undefined": None}


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
    """Encode ``value`` as compact JSON with sorted keys; an :class:`ObjectKeyMap` inside is written as fastjson
    does.
    """
    try:
        return json_library.dumps_sorted(value)
    except TypeError:
        return _dumps_with_object_keys(value).encode()


def dumps_pretty_json(value: object) -> bytes:
    """Encode ``value`` as indented JSON for files that people read."""
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


def loads_json(data: bytes, values_max: int | None = TOLERANT_VALUES_MAX) -> Any:
    """Decode the value in ``data``; integer keys become strings, object keys an :class:`ObjectKeyMap`.

    Raises :class:`MalformedBody` with the position, and for more than ``values_max`` keys, values and escapes in text
    that is not standard JSON; None: no limit.
    """
    try:
        return json_library.loads(data)
    except ValueError:
        text = java_text(data)
    try:
        return json_library.loads(text)  # invalid UTF-8 may have been the only fault
    except ValueError:
        return _TolerantParser(text, values_max).parse()


def loads_json_object(data: bytes, what: str, values_max: int | None = TOLERANT_VALUES_MAX) -> dict[str, Any]:
    """Decode a body that must be an object, as :func:`loads_json` does; ``what`` names it in the error."""
    value = loads_json(data, values_max)
    if not isinstance(value, dict):
        raise MalformedBody(f"{what} must be a JSON object, got {type(value).__name__}")
    return value


class _TolerantParser:
    """A recursive-descent parser for JSON and the extensions that fastjson accepts."""

    def __init__(self, text: str, values_max: int | None) -> None:
        self._text = text.removeprefix("\ufeff").rstrip("\0")
        self._at = 0
        self._depth = 0
        self._values_max = len(text) if values_max is None else values_max
        self._values_left = self._values_max

    def parse(self) -> Any:
        value = self._value()
        if self._peek():
            raise self._error("text after the end")
        return value

    def _error(self, what: str) -> MalformedBody:
        return MalformedBody(f"the JSON cannot be read at position {self._at}: {what}")

    def _count(self, values: int) -> None:
        self._values_left -= values
        if self._values_left < 0:
            raise self._error(f"it has more than {self._values_max} values and is not standard JSON")

    def _peek(self, skipped: re.Pattern[str] = _SKIPPED) -> str:
        """Return the next significant character; "" at the end."""
        found = skipped.match(self._text, self._at)
        assert found is not None, "it matches nothing, too"
        self._at = found.end()
        return self._text[self._at : self._at + 1]

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise self._error(f"{character!r} expected")
        self._at += 1

    def _value(self) -> Any:
        self._count(1)
        character = self._peek()
        if character in _STRINGS:
            return self._string(character)
        if character not in ("{", "["):
            return self._literal(self._word())
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"nested deeper than {_MAX_DEPTH}")
        value = self._object() if character == "{" else self._array()
        self._depth -= 1
        return value

    def _string(self, quote: str) -> str:
        found = _STRINGS[quote].match(self._text, self._at)
        if found is None:
            raise self._error("a string does not end")
        text = found[1]
        if "\\" in text:
            self._count(text.count("\\"))
            text = _ESCAPE.sub(self._escaped, text)
            if _SURROGATE.search(text):
                text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # joins pairs
                text = _SURROGATE.sub("?", text)
        self._at = found.end()
        return text

    def _escaped(self, escape: re.Match[str]) -> str:
        code = escape[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code not in _ESCAPED:
            raise self._error(f"{escape[0]!r} in a string means nothing")
        return _ESCAPED[code]

    def _name(self) -> str:
        self._count(1)
        return self._word()

    def _word(self) -> str:
        found = _WORD.match(self._text, self._at)
        assert found is not None, "it matches nothing, too"
        self._at = found.end()
        return found[0]

    def _literal(self, word: str) -> Any:
        if word in _LITERALS:
            return _LITERALS[word]
        try:
            return int(word) if _INTEGER.fullmatch(word) else json_library.loads(word)
        except ValueError as error:
            raise self._error(f"{word[:20]!r} is not a value") from error

    def _array(self) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        while self._peek(_SKIPPED_COMMAS) != "]":
            items.append(self._value())
            self._require_separator("]")
        self._at += 1
        return items

    def _object(self) -> dict[str, Any] | ObjectKeyMap:
        self._at += 1
        plain: dict[str, Any] = {}
        keyed: list[tuple[dict[str, object], object]] = []
        while (character := self._peek(_SKIPPED_COMMAS)) != "}":
            key = self._value() if character == "{" or character in _STRINGS else self._name()
            self._expect(":")
            value = self._value()
            if isinstance(key, dict):
                keyed.append((key, value))
            elif isinstance(key, str) and (key or character in _STRINGS):
                plain[key] = value
            else:
                raise self._error("a key must be a string, a word or an object")
            self._require_separator("}")
        self._at += 1
        if keyed and plain:
            raise self._error("object keys and plain keys in one map")
        return ObjectKeyMap(keyed) if keyed else plain

    def _require_separator(self, end: str) -> None:
        if self._peek() not in (",", end):
            raise self._error(f"',' or {end!r} expected")
