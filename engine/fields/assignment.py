"""The reader of ``NAME=VALUE`` and ``NODE.NAME=VALUE``."""

from __future__ import annotations

from engine.fields.field import Field
from engine.fields.refusal import FieldRefused, shown
from engine.texts import Text


def read_assignment(text: str, shape: str = "NAME=VALUE", example: str = "", *fields: Field) -> tuple[str, ...]:
    """Return the names and the value in ``text``, which may be empty. Raises :class:`FieldRefused`.

    :param shape: as a message names it; it has as many dots before the = as ``text`` must have.
    :param fields: what the last name and the value may be.
    """
    place, equals, value = text.partition("=")
    dots = shape.partition("=")[0].count(".")
    names = place.split(".", dots)
    if not equals or not all(names) or len(names) <= dots:
        raise FieldRefused(
            shape, Text("field.bad", value=shown(text)), f"{shape}, such as {example}" if example else shape
        )
    for field, part in zip(fields, (names[-1], value), strict=False):
        field.read(part, field.name)
    return *names, value
