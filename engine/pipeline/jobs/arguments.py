"""Arguments of a job, from a command line or a page, checked against its parameters.

Texts and JSON values are equivalent: ``"10s"`` and ``10000`` are the same duration, ``"true"`` and ``True`` the same
switch. A name may be written with dashes or underscores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from engine.fields.field import EXACT_MAX, Field, only_known
from engine.fields.refusal import FieldRefused
from engine.pipeline.errors import WrongArgument
from engine.pipeline.jobs.description import JobDescription, JobParameter, ParameterKind, Texts
from engine.protocol.errors import ProtocolError
from engine.protocol.names import GROUP_MAX_LENGTH, TOPIC_MAX_LENGTH, validate_group, validate_topic
from engine.texts import Text

#: Characters of one argument; a list of a few hundred topics fits.
TEXT_MAX = 8_192
#: Names in a list, and characters of one: a group, an ``@`` and a topic.
_NAMES_MAX = 1_000
_GROUP_AT_MAX = GROUP_MAX_LENGTH + 1 + TOPIC_MAX_LENGTH
#: Milliseconds per unit in which a duration may be written.
DURATION_UNITS_MS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(rf"(\d{{1,15}})\s*({'|'.join(DURATION_UNITS_MS)})?")
_SWITCH_WORDS = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)

#: Value of a parameter: a text, an integer (of milliseconds for a duration), or a boolean. None: not given.
Argument = str | int | bool | None


class ArgumentRefused(WrongArgument):
    """An argument is invalid.

    :ivar refused: the refusal in its parts.
    :ivar parameter: its name, in snake_case.
    :ivar text: what is wrong with it and what is allowed.
    """

    def __init__(self, refused: FieldRefused) -> None:
        text: Texts = refused.sentence or refused.detail
        super().__init__(Text("job.argument.named", parameter=refused.path, text=text))
        self.refused, self.parameter, self.text = refused, refused.path, text


def read_arguments(description: JobDescription, given: Mapping[str, object]) -> dict[str, Argument]:
    """Return a checked value for every parameter of the job, defaults included. Raises :class:`ArgumentRefused`.

    None or an empty text counts as not given. TOPICS are one text with the names joined by commas.
    """
    parameters = {parameter.name: parameter for parameter in description.parameters}
    named = by_parameter(given)
    try:
        only_known(named, parameters)
    except FieldRefused as refused:
        raise ArgumentRefused(refused) from None
    read = {name: read_argument(parameter, named.get(name)) for name, parameter in parameters.items()}
    for name, parameter in parameters.items():
        if read[name] is None and parameter.unless is not None and read[parameter.unless] is None:
            text = Text("job.argument.missing_unless", other=parameter.unless)
            raise ArgumentRefused(FieldRefused(name, Text("field.missing"), f"{name}, {parameter.unless}", text))
    return read


def by_parameter(given: Mapping[str, object]) -> dict[str, object]:
    """Return ``given`` by the parameters' own names. Raises :class:`ArgumentRefused` if one is named twice."""
    named: dict[str, object] = {}
    for name, value in given.items():
        own = name.replace("-", "_")
        if own in named:
            text = Text("job.argument.twice")
            raise ArgumentRefused(FieldRefused(own[:100], Text("field.twice"), Text("field.once"), text))
        named[own] = value
    return named


def read_argument(parameter: JobParameter, value: object) -> Argument:
    """Return the checked value of one parameter. Raises :class:`ArgumentRefused`."""
    name = parameter.name
    try:
        read = field_of(parameter).read(_as_json(parameter.kind, value), name, of_text=True)
    except FieldRefused as refused:
        text = refused.detail if refused.path == name else refused.text
        raise ArgumentRefused(FieldRefused(name, refused.problem, refused.allowed, text)) from None
    return ",".join(dict.fromkeys(read)) if isinstance(read, tuple) else read


def _as_json(kind: ParameterKind, value: object) -> object:
    """Return ``value`` as its field takes it; None if it is not given."""
    if isinstance(value, str):
        value = value.strip() or None
    if kind is ParameterKind.SWITCH and isinstance(value, str | int):
        return _SWITCH_WORDS.get(str(value).lower(), value)
    if kind is ParameterKind.DURATION and isinstance(value, str) and (found := _DURATION.fullmatch(value)):
        return int(found[1]) * DURATION_UNITS_MS[found[2] or "ms"]
    if kind in _CHECKS and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


def field_of(parameter: JobParameter) -> Field:
    """Return the field that reads the parameter's value."""
    name, kind = parameter.name, parameter.kind
    default = ... if parameter.required and parameter.default is None else parameter.default
    if kind is ParameterKind.CHOICE:
        return Field(name, "choice", default=default, allowed=parameter.choices)
    if kind is ParameterKind.SWITCH:
        return Field(name, "switch", default=default)
    if kind in (ParameterKind.INTEGER, ParameterKind.DURATION):
        low = -EXACT_MAX if parameter.minimum is None else parameter.minimum
        high = EXACT_MAX if parameter.maximum is None else parameter.maximum
        says = Text("job.argument.duration", low=low, high=high) if kind is ParameterKind.DURATION else None
        return Field(name, "integer", low, high, default=default, says=says)
    check, says = _CHECKS[kind]
    if kind in (ParameterKind.TOPICS, ParameterKind.GROUPS):
        return Field(name, "names", 1, _NAMES_MAX, default=default, each=_GROUP_AT_MAX, check=check, says=says)
    return Field(name, "text", 1, TEXT_MAX, default=default, check=check, says=says)


def _wordless(validate: Callable[[str], None]) -> Callable[[str], None]:
    """Return a check that says nothing: what is allowed is said in each language."""

    def check(name: str) -> None:
        try:
            validate(name)
        except ProtocolError:
            raise ValueError from None

    return check


_check_topic, _check_group = _wordless(validate_topic), _wordless(validate_group)


def _check_group_at(text: str) -> None:
    """Check a group, or ``group@topic``. Neither a group nor a topic can contain an ``@``."""
    group, at, topic = text.partition("@")
    _check_group(group)
    if at:
        _check_topic(topic)


def _check_line(text: str) -> None:
    if not text.isprintable():
        raise ValueError


_TOPIC_TEXT = Text("job.argument.name", limit=TOPIC_MAX_LENGTH)
_LINE = (_check_line, Text("job.argument.line", limit=TEXT_MAX))
#: Kinds of texts -> how one is checked, and what is allowed.
_CHECKS = {
    ParameterKind.TOPIC: (_check_topic, _TOPIC_TEXT),
    ParameterKind.TOPICS: (_check_topic, _TOPIC_TEXT),
    ParameterKind.GROUP: (_check_group, Text("job.argument.name", limit=GROUP_MAX_LENGTH)),
    ParameterKind.GROUPS: (_check_group_at, Text("job.argument.groups")),
    ParameterKind.TEXT: _LINE,
    ParameterKind.SCENARIO: _LINE,
    ParameterKind.FOLDER: _LINE,
}


def listed_names(value: Argument) -> tuple[str, ...]:
    """Return the topics or groups that an argument lists, without duplicates; empty if it is not given."""
    names = (name.strip() for name in str(value or "").split(","))
    return tuple(dict.fromkeys(name for name in names if name))
