"""Reading of specifications: dataclasses whose annotations say what a scenario's text may give for each field::

    start_ms: Milliseconds = 0
    slave_of: Annotated[str, Field("", "text", 0, 20)] = ""

An annotation holds a :class:`~engine.fields.field.Field` without a name, or a function that reads the field from its
section and returns None if it is absent. Switches, words of an enumeration, and parts that are specifications
themselves need neither. A field without a default must be given. Fields of any other type are not part of the text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache, partial
from types import NoneType
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from engine.fields.field import Field
from engine.lab.scenario.scenario_yaml import Section

_Spec = TypeVar("_Spec")
_Part = TypeVar("_Part")
_Word = TypeVar("_Word", bound=StrEnum)

#: Reads the field of that name; None: it is absent.
FieldReader = Callable[[Section, str], Any]


class Named(NamedTuple):
    """The name of a field in the text, where it is not that of the dataclass."""

    name: str


class _SpecField(NamedTuple):
    name: str
    name_in_text: str
    read: FieldReader


def read_spec(kind: type[_Spec], section: Section, **given: Any) -> _Spec:
    """Return the specification in ``section``. Raises :class:`~engine.lab.scenario.errors.ScenarioError`.

    :param given: values of fields that are not read: the text must not have these fields.
    """
    fields = _fields(kind)  # type: ignore[arg-type]  # to mypy a type variable is not hashable
    read = {field.name: field.read(section, field.name_in_text) for field in fields if field.name not in given}
    return kind(**given, **read)


def names_in_text(kind: type) -> tuple[str, ...]:
    """Return the names of the fields that a text may give."""
    return tuple(field.name_in_text for field in _fields(kind))


def part(parse: Callable[[Section], _Part]) -> Callable[[Section, str], _Part | None]:
    """Return the reader of a field that is a mapping, of which ``parse`` reads all fields."""
    return lambda section, name: section.part(name, parse)


def parts(parse: Callable[[Section], _Part], max_count: int) -> Callable[[Section, str], tuple[_Part, ...]]:
    """Return the reader of a list of mappings, or of a single one."""
    return lambda section, name: tuple(parse(each) for each in section.sections(name, max_count=max_count))


def words_of(*allowed: _Word) -> Callable[[Section, str], tuple[_Word, ...] | None]:
    """Return the reader of words in one text, separated by commas; an empty one counts as absent."""
    return lambda section, name: section.words_of(name, allowed) or None


@cache
def _fields(kind: Any) -> tuple[_SpecField, ...]:
    return tuple(_found_fields(kind))


def _found_fields(kind: Any) -> Iterator[_SpecField]:
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        own, extras = _unwrapped(hints[field.name])
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        read = _reader(own, extras, ... if default is dataclasses.MISSING else default)
        if read is not None:
            names = [extra.name for extra in extras if isinstance(extra, Named)]
            yield _SpecField(field.name, names[0] if names else field.name, read)


def _unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the type without ``None``, and what its annotation holds."""
    if get_origin(hint) is Annotated:
        own, inner = _unwrapped(hint.__origin__)
        return own, (*inner, *hint.__metadata__)
    kinds = [each for each in get_args(hint) if each is not NoneType]
    return _unwrapped(kinds[0]) if NoneType in get_args(hint) and len(kinds) == 1 else (hint, ())


def _reader(own: Any, extras: tuple[Any, ...], default: Any) -> FieldReader | None:
    for extra in extras:
        if isinstance(extra, Field):
            return partial(_read_field, dataclasses.replace(extra, default=default))
        if callable(extra):
            return partial(_read_or_default, extra, default)
    if own is bool:
        return partial(_read_field, Field("", "switch", default=default))
    if isinstance(own, type) and issubclass(own, StrEnum):
        return partial(_read_field, Field("", "choice", default=default, allowed=tuple(own)))
    if isinstance(own, type) and dataclasses.is_dataclass(own):
        return partial(_read_or_default, part(partial(read_spec, own)), default)
    return None


def _read_field(field: Field, section: Section, name: str) -> Any:
    return section.value(dataclasses.replace(field, name=name))


def _read_or_default(read: FieldReader, default: Any, section: Section, name: str) -> Any:
    found = read(section, name)
    if found is None and default is ...:
        raise section.fail(name, "is missing")
    return default if found is None else found
