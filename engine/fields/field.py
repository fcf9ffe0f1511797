"""One field of outside input as data, and the reader of objects by a table of them.

A value is JSON's, or a text (``of_text``) from a query string, a command line, an option or YAML; ``null`` counts as
absent. Numbers are ASCII digits: neither ``1_000`` nor ``١`` is one, and ``true`` is not 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.fields.refusal import SHOWN_MAX, FieldRefused, shown
from engine.protocol.errors import ProtocolError
from engine.texts import Text, plain

#: The largest integer that every JSON reader keeps exactly.
EXACT_MAX = (1 << 53) - 1

#: ``pattern``: a text, or a prefix followed by ``*``. ``names``: a list of texts; ``texts``: an object of texts.
#: ``row``: a list with a place for each field. ``any``: a number, true, false or a text.
Kind = Literal[
    "integer", "number", "switch", "choice", "text", "pattern", "names", "texts", "list", "row", "object", "any"
]

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}(\.[0-9]{1,19})?")
_SWITCHES = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name, its kind and what it may be.

    :ivar low, high: bounds of a number; of the length of a text, a list or an object.
    :ivar default: the value if it is absent; ``...``: it must be given.
    :ivar allowed: what a choice may be, and words that a number may be; members of an enumeration are returned as such.
    :ivar each: the longest text in ``names`` and ``texts``.
    :ivar fields: the table of an object, of each object in a list, and of the places of a row; empty: it is not looked
        into.
    :ivar item: what each entry of a list is, if it is not an object.
    :ivar check: a further check of a text, or of each of ``names``. Raises an error that may say what is wrong,
        and after ``; allowed: `` what is allowed.
    :ivar strip: spaces around a text are left out before it is checked; other blanks may be part of a key of a message.
    :ivar says: what is allowed, as a form says it.
    :ivar is_secret: the value is not quoted.
    """

    name: str
    kind: Kind
    low: float = 0
    high: float = EXACT_MAX
    default: Any = ...
    allowed: tuple[str, ...] = ()
    each: int = 200
    fields: tuple[Field, ...] = ()
    item: Field | None = None
    check: Callable[[str], object] | None = None
    says: Mapping[str, str] | None = None
    is_secret: bool = False
    strip: bool = False

    def read(self, value: object, path: str, *, of_text: bool = False) -> Any:
        """Return ``value`` checked, or the default. Raises :class:`FieldRefused`."""
        if value is None:
            if self.default is ...:
                raise self.refused(path, Text("field.missing"))
            return self.default
        given = value.strip(" ") if self.strip and isinstance(value, str) else value
        given = _parsed(self.kind, given) if of_text and isinstance(given, str) else given
        checked = _CHECKS[self.kind](self, given)
        if checked is None:
            raise self.refused(path, self._problem(value))
        if self.kind in ("names", "texts") or self.fields or self.item:
            return self._parts(checked, path, of_text=of_text)
        if self.check is not None:
            try:
                self.check(str(checked))
            except (ValueError, ProtocolError) as error:
                problem, _, allowed = str(error).partition("; allowed: ")
                allowed_text = self.says or allowed or self.allowed_text
                raise FieldRefused(path, problem or self._problem(value), allowed_text, self.says) from None
        return checked

    def refused(self, path: str, problem: Mapping[str, str] | str) -> FieldRefused:
        """Return the refusal of this field, to be raised."""
        return FieldRefused(path, problem, self.says or self.allowed_text, self.says)

    @property
    def allowed_text(self) -> Mapping[str, str]:
        """Return what is allowed, by language."""
        if self.kind == "choice":
            names = ", ".join(filter(None, self.allowed))
            return Text("field.any_or", names=names) if "" in self.allowed else plain(names)
        if self.kind == "object" and self.fields:
            return _object_text(field.name for field in self.fields)
        if self.kind == "row":
            return plain(f"[{', '.join(field.name for field in self.fields)}]")
        text = Text(f"field.{self.kind}", **{name: getattr(self, name) for name in _BOUNDS[self.kind]})
        is_or_words = self.kind == "number" and self.allowed
        return Text("field.or_words", allowed=text, words=", ".join(self.allowed)) if is_or_words else text

    def _problem(self, value: object) -> Mapping[str, str]:
        if isinstance(value, str | list | dict) and not self.low <= len(value) <= self.high:
            if isinstance(value, str) and self.kind in ("text", "pattern"):
                return Text("field.length", count=len(value))
            if not isinstance(value, str) and self.kind in ("names", "texts", "list"):
                return Text("field.count", count=len(value))
        return Text("field.secret") if self.is_secret else Text("field.bad", value=shown(value))

    def _parts(self, value: Any, path: str, *, of_text: bool) -> Any:
        low = 1 if self.kind == "names" else 0
        text = Field("", "text", low, self.each, check=self.check, says=self.says, strip=self.strip)
        if self.kind == "names":
            return tuple(text.read(one, f"{path}[{at}]") for at, one in enumerate(value))
        if self.kind == "texts":
            name = replace(text, low=1)
            return {name.read(key, path): text.read(one, path_of(key, path)) for key, one in value.items()}
        if self.kind == "object":
            return read_fields(self.fields, value, path, of_text=of_text)
        if self.kind == "row":
            places = zip(self.fields, value, strict=True)
            return tuple(field.read(one, path_of(field.name, path), of_text=of_text) for field, one in places)
        if self.item is not None:
            return tuple(self.item.read(one, f"{path}[{at}]", of_text=of_text) for at, one in enumerate(value))
        return [read_fields(self.fields, one, f"{path}[{at}]", of_text=of_text) for at, one in enumerate(value)]


def read_fields(
    table: Iterable[Field],
    data: object,
    path: str = "",
    *,
    what: str = "body",
    also: Iterable[str] = (),
    is_open: bool = False,
    of_text: bool = False,
) -> dict[str, Any]:
    """Return a checked value, or the default, for every field of the table. Raises :class:`FieldRefused`.

    :param path: where ``data`` is in the whole; empty: ``data`` is the whole, and ``what`` names it.
    :param also: further names that may be given, and are read elsewhere.
    :param is_open: all other names may be given and mean nothing, as in a file that a later version may write.
    """
    fields = tuple(table)
    known = [*also, *(field.name for field in fields)]
    if not isinstance(data, Mapping):
        raise FieldRefused(path or what, Text("field.bad", value=shown(data)), _object_text(known))
    if not is_open:
        only_known(data, known, path)
    return {
        field.name: field.read(data.get(field.name), path_of(field.name, path), of_text=of_text) for field in fields
    }


def read_tag(tag: str, allowed: Iterable[str], data: object, what: str = "body") -> str:
    """Return the field that decides which others there are; :func:`read_fields` reads those."""
    if not isinstance(data, Mapping):
        raise FieldRefused(what, Text("field.bad", value=shown(data)), _object_text([tag]))
    return str(Field(tag, "choice", allowed=tuple(allowed)).read(data.get(tag), path_of(tag, what)))


def only_known(data: Iterable[object], known: Iterable[str], path: str = "") -> None:
    """Raise :class:`FieldRefused` for the first name in ``data`` that is not in ``known``."""
    names = list(known)
    for name in data:
        if name not in names:
            import difflib  # only for a refusal: it takes longer to import than this module

            near = difflib.get_close_matches(str(name)[:SHOWN_MAX], names, n=1)
            problem = Text("field.unknown_near", near=near[0]) if near else Text("field.unknown")
            raise FieldRefused(path_of(name, path), problem, ", ".join(names) or Text("field.none"))


def path_of(name: object, path: str) -> str:
    """Return the full name of a field; ``name`` may be anything."""
    is_plain = isinstance(name, str) and name.isprintable() and 0 < len(name) <= SHOWN_MAX
    plain_name = str(name) if is_plain else shown(name)
    return f"{path}.{plain_name}" if path else plain_name


def _object_text(names: Iterable[str]) -> Text:
    """Return what an object with these fields may be."""
    return Text("field.object_of", names=", ".join(names) or "-")


def _parsed(kind: Kind, text: str) -> object:
    """Return what ``text`` means in a field of this kind; the text itself if it means nothing there."""
    if kind in ("switch", "any") and text in _SWITCHES:
        return _SWITCHES[text]
    if kind in ("integer", "number", "any") and _INTEGER.fullmatch(text):
        return int(text)
    if kind in ("number", "any") and _NUMBER.fullmatch(text):
        return float(text)
    return [part.strip() for part in text.split(",")] if kind == "names" and text else text


def _is_text(value: object, low: float, high: float) -> bool:
    """Return whether it is a text of that length that UTF-8 can write: JSON may hold half of a surrogate pair."""
    return isinstance(value, str) and low <= len(value) <= high and not _SURROGATE.search(value)


_SURROGATE = re.compile("[\ud800-\udfff]")


def _integer(field: Field, value: object) -> object:
    fits = isinstance(value, int) and not isinstance(value, bool) and field.low <= value <= field.high
    return value if fits else None


def _number(field: Field, value: object) -> object:
    if isinstance(value, str):
        return _choice(field, value)
    # Comparing refuses "not a number", and integers that no float can hold.
    fits = isinstance(value, int | float) and not isinstance(value, bool) and field.low <= value <= field.high
    return float(value) if fits and isinstance(value, int | float) else None


def _switch(field: Field, value: object) -> object:
    return value if isinstance(value, bool) else None


def _choice(field: Field, value: object) -> object:
    return next((one for one in field.allowed if isinstance(value, str) and one == value), None)


def _text(field: Field, value: object) -> object:
    return value if _is_text(value, field.low, field.high) else None


def _pattern(field: Field, value: object) -> object:
    return value if _is_text(value, field.low, field.high) and "*" not in str(value)[:-1] else None


def _list(field: Field, value: object) -> object:
    return value if isinstance(value, list | tuple) and field.low <= len(value) <= field.high else None


def _row(field: Field, value: object) -> object:
    return value if isinstance(value, list | tuple) and len(value) == len(field.fields) else None


def _object(field: Field, value: object) -> object:
    fits = isinstance(value, Mapping) and (field.fields or field.low <= len(value) <= field.high)
    return value if fits else None


def _any(field: Field, value: object) -> object:
    if isinstance(value, str):
        return _text(field, value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) and -EXACT_MAX <= value <= EXACT_MAX else None


_CHECKS: Mapping[Kind, Callable[[Field, object], object]] = {
    "integer": _integer,
    "number": _number,
    "switch": _switch,
    "choice": _choice,
    "text": _text,
    "pattern": _pattern,
    "names": _list,
    "texts": _object,
    "list": _list,
    "row": _row,
    "object": _object,
    "any": _any,
}
#: What the text about each kind names.
_BOUNDS: Mapping[Kind, tuple[str, ...]] = {
    "integer": ("low", "high"),
    "number": ("low", "high"),
    "switch": (),
    "text": ("low", "high"),
    "pattern": ("high",),
    "names": ("low", "high", "each"),
    "texts": ("high", "each"),
    "list": ("low", "high"),
    "object": (),
    "any": ("high",),
}
