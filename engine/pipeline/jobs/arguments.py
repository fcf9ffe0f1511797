"""Arguments of a job, from a command line or a page, checked against its parameters.

Texts and JSON values are equivalent: ``"10s"`` and ``10000`` are the same duration, ``"true"`` and ``True`` the same
switch. A name may be written with dashes or underscores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from engine.pipeline.errors import WrongArgument
from engine.pipeline.jobs.description import JobDescription, JobParameter, ParameterKind, Texts
from engine.protocol.errors import ProtocolError
from engine.protocol.names import validate_group, validate_topic
from engine.texts import Text

#: Characters of one argument; a list of a few hundred topics fits.
TEXT_MAX = 8_192
#: Milliseconds per unit in which a duration may be written.
DURATION_UNITS_MS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(rf"(\d{{1,15}})\s*({'|'.join(DURATION_UNITS_MS)})?")
_SWITCH_WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}

#: Value of a parameter: a text, an integer (of milliseconds for a duration), or a boolean. None: not given.
Argument = str | int | bool | None


class ArgumentRefused(WrongArgument):
    """An argument is invalid.

    :ivar parameter: its name, in snake_case.
    :ivar text: what is wrong with it and what is allowed.
    """

    def __init__(self, parameter: str, text: Texts) -> None:
        super().__init__(Text("job.argument.named", parameter=parameter, text=text))
        self.parameter = parameter
        self.text = text


def read_arguments(description: JobDescription, given: Mapping[str, object]) -> dict[str, Argument]:
    """Return a checked value for every parameter of the job, defaults included. Raises :class:`ArgumentRefused`.

    None or an empty text counts as not given. TOPICS are one text with the names joined by commas.
    """
    parameters = {parameter.name: parameter for parameter in description.parameters}
    named = by_parameter(given)
    for name in named:
        if name not in parameters:
            allowed = ", ".join(parameters) or "none"
            raise ArgumentRefused(name[:100], Text("job.argument.no_parameter", job=description.name, allowed=allowed))
    read = {name: _read_one(parameter, named.get(name)) for name, parameter in parameters.items()}
    for name, parameter in parameters.items():
        if read[name] is None and parameter.unless is not None and read[parameter.unless] is None:
            raise ArgumentRefused(name, Text("job.argument.missing_unless", other=parameter.unless))
    return read


def by_parameter(given: Mapping[str, object]) -> dict[str, object]:
    """Return ``given`` by the parameters' own names. Raises :class:`ArgumentRefused` if one is named twice."""
    named: dict[str, object] = {}
    for name, value in given.items():
        own = name.replace("-", "_")
        if own in named:
            raise ArgumentRefused(own[:100], Text("job.argument.twice"))
        named[own] = value
    return named


def _read_one(parameter: JobParameter, value: object) -> Argument:
    if value is None or (isinstance(value, str) and not value.strip()):
        if parameter.required and parameter.default is None:
            raise ArgumentRefused(parameter.name, Text("job.argument.missing"))
        return parameter.default
    return _READERS[parameter.kind](parameter, value)


def _text(parameter: JobParameter, value: object) -> str:
    # A page sends several topics as a list.
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = ",".join(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ArgumentRefused(parameter.name, Text("job.argument.no_text"))
    text = str(value).strip()
    if len(text) > TEXT_MAX or not text.isprintable():
        raise ArgumentRefused(parameter.name, Text("job.argument.too_long", limit=TEXT_MAX))
    return text


def _topic(parameter: JobParameter, value: object) -> str:
    return _name(parameter, _text(parameter, value), validate_topic)


def _topics(parameter: JobParameter, value: object) -> str:
    return ",".join(dict.fromkeys(_name(parameter, name, validate_topic) for name in _parts(parameter, value)))


def _parts(parameter: JobParameter, value: object) -> list[str]:
    names = [name.strip() for name in _text(parameter, value).split(",")]
    if not all(names):
        raise ArgumentRefused(parameter.name, Text("job.argument.empty_name"))
    return names


def _group(parameter: JobParameter, value: object) -> str:
    return _name(parameter, _text(parameter, value), validate_group)


def _groups(parameter: JobParameter, value: object) -> str:
    """Neither a group nor a topic can contain an ``@``."""
    parts = _parts(parameter, value)
    for part in parts:
        group, at, topic = part.partition("@")
        if not group or (at and not topic):
            raise ArgumentRefused(parameter.name, Text("job.argument.no_name", value=_shown(part)))
        _name(parameter, group, validate_group)
        if at:
            _name(parameter, topic, validate_topic)
    return ",".join(dict.fromkeys(parts))


def _name(parameter: JobParameter, name: str, validate: Callable[[str], None]) -> str:
    try:
        validate(name)
    except ProtocolError as error:
        shown = name if len(name) <= 60 else name[:60] + "..."
        raise ArgumentRefused(parameter.name, Text("job.argument.bad_name", problem=str(error), name=shown)) from None
    return name


def _integer(parameter: JobParameter, value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,18}\s*", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentRefused(
            parameter.name, Text("job.argument.no_number", value=_shown(value), allowed=_range_text(parameter))
        )
    return _in_range(parameter, value)


def _duration(parameter: JobParameter, value: object) -> int:
    if isinstance(value, str) and (found := _DURATION.fullmatch(value.strip())):
        value = int(found[1]) * DURATION_UNITS_MS[found[2] or "ms"]
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentRefused(parameter.name, Text("job.argument.no_duration", value=_shown(value)))
    return _in_range(parameter, value)


def _in_range(parameter: JobParameter, value: int) -> int:
    low, high = parameter.minimum, parameter.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        allowed = _range_text(parameter)
        raise ArgumentRefused(parameter.name, Text("job.argument.out_of_range", value=value, allowed=allowed))
    return value


def _range_text(parameter: JobParameter) -> Text:
    unit = Text("job.argument.unit_ms") if parameter.kind is ParameterKind.DURATION else ""
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None:
        return Text("job.argument.range", low=low, high=high, unit=unit)
    if low is not None:
        return Text("job.argument.at_least", low=low, unit=unit)
    if high is not None:
        return Text("job.argument.at_most", high=high, unit=unit)
    return Text("job.argument.any_number")


def _choice(parameter: JobParameter, value: object) -> str:
    if not isinstance(value, str) or value.strip() not in parameter.choices:
        choices = ", ".join(parameter.choices)
        raise ArgumentRefused(parameter.name, Text("job.argument.no_choice", value=_shown(value), choices=choices))
    return value.strip()


def _switch(parameter: JobParameter, value: object) -> bool:
    word = str(value).strip().lower() if isinstance(value, str | bool | int) else ""
    if word not in _SWITCH_WORDS:
        raise ArgumentRefused(parameter.name, Text("job.argument.no_switch", value=_shown(value)))
    return _SWITCH_WORDS[word]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


_READERS: dict[ParameterKind, Callable[[JobParameter, object], Argument]] = {
    ParameterKind.TOPIC: _topic,
    ParameterKind.TOPICS: _topics,
    ParameterKind.GROUP: _group,
    ParameterKind.GROUPS: _groups,
    ParameterKind.TEXT: _text,
    ParameterKind.SCENARIO: _text,
    ParameterKind.FOLDER: _text,
    ParameterKind.INTEGER: _integer,
    ParameterKind.DURATION: _duration,
    ParameterKind.CHOICE: _choice,
    ParameterKind.SWITCH: _switch,
}
