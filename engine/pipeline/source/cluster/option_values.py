"""Checks and conversions of the texts that Spark passes as options.

Spark ignores the case of option names, and so does this; errors and help spell them as ``docs/pipeline.md`` does.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from engine.fields.field import Field
from engine.fields.refusal import FieldRefused
from engine.pipeline.source.cluster.errors import RocketMQError, wrong_option
from engine.protocol.java_trim import java_trim

_T = TypeVar("_T")

#: Options that Spark itself adds to those of the user.
_OF_SPARK = frozenset({"checkpointlocation", "queryname", "serialization.format", "outputmode"})
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000}
_DURATION = re.compile(rf"([0-9]{{1,9}}) *({'|'.join(_UNITS_MS)})?")


def text_options(*names: str) -> tuple[Field, ...]:
    """Return the fields of options whose text is read by code of their own."""
    return tuple(Field(name, "text", default=None) for name in names)


class OptionValues:
    """The options of one ``format("rocketmq")``.

    :param options: name -> value, as Spark passes them.
    :param fields: all allowed options, spelt as in the documentation.
    """

    def __init__(self, options: Mapping[str, str], fields: Iterable[Field]) -> None:
        """Check the names. Raises :class:`RocketMQError` for an unknown one."""
        self._values = {name.lower(): value for name, value in options.items()}
        self._fields = {field.name.lower(): field for field in fields}
        for name in self._values:
            if name not in self._fields and name not in _OF_SPARK:
                raise self._unknown(name)

    def _unknown(self, name: str) -> RocketMQError:
        if name == "path":
            return wrong_option(
                "path", "topics have no path; name one by the option 'topic', then call load() or save()"
            )
        close = difflib.get_close_matches(name, self._fields, n=1)
        hint = f"did you mean {self._fields[close[0]].name!r}? " if close else ""
        allowed = ", ".join(sorted(field.name for field in self._fields.values()))
        return wrong_option(name, f"there is no such option; {hint}allowed: {allowed}")

    def text(self, name: str) -> str | None:
        """Return the value without surrounding blanks; None if it is not given or blank."""
        value = self._values.get(name.lower())
        return (java_trim(str(value)) or None) if value is not None else None

    def required(self, name: str, example: str) -> str:
        """Return the value as :meth:`text` does, but require it."""
        value = self.text(name)
        if value is None:
            raise wrong_option(name, f"is missing; write for example {example!r}")
        return value

    def words(self, name: str, separators: str = ",") -> tuple[str, ...]:
        """Return the parts between separators, without blanks and without empty ones."""
        words = map(java_trim, re.split(f"[{separators}]", self.text(name) or ""))
        return tuple(dict.fromkeys(word for word in words if word))

    def duration_ms(self, name: str) -> int:
        """Return a duration in ms, given in Spark's form: a number with a unit (default: ``ms``)."""
        text = self.read(name)
        found = _DURATION.fullmatch(text.lower())
        if found is None:
            raise wrong_option(name, f"{text!r} is not allowed; allowed: a number with ms, s, m or h, such as '15m'")
        return int(found[1]) * _UNITS_MS[found[2] or "ms"]

    def read(self, name: str, **bounds: int) -> Any:
        """Return the value that the option's field allows, or the field's default.

        :param bounds: those of the field that another option decides.
        """
        field, text = replace(self._fields[name.lower()], **bounds), self.text(name)  # type: ignore[arg-type]
        if text is not None and field.kind in ("switch", "choice"):
            text = text.lower()
        try:
            return field.read(text, field.name, of_text=True)
        except FieldRefused as refused:
            raise wrong_option(field.name, str(refused.detail)) from None

    def fill(self, kind: type[_T], **known: Any) -> _T:
        """Return ``kind``, a dataclass, with the ``known`` fields; of each other field the option of the same name."""
        names = [field.name for field in fields(kind) if field.name not in known]  # type: ignore[arg-type]
        return kind(**known, **{name: self.read(_camel_case(name)) for name in names})


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))
