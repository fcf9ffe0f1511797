"""Parameters of the HTTP API: read strictly; an error names the parameter and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping

from flask import request

from app.foundation.json_types import JsonObject
from engine.protocol.json_form import json_library

_INT64_MAX = 2**63 - 1


class BadParameter(ValueError):
    """A parameter of a request is invalid.

    :param text: what is allowed by language, where people type the parameter into a form.
    """

    def __init__(self, name: str, problem: str, allowed: str, text: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{name}: {problem}; allowed: {allowed}")
        self.name = name
        self.problem = problem
        self.allowed = allowed
        self.text = text

    def as_json(self) -> JsonObject:
        """Return the body of the 400 answer."""
        reported: JsonObject = {
            "error": str(self),
            "parameter": self.name,
            "problem": self.problem,
            "allowed": self.allowed,
        }
        return reported if self.text is None else {**reported, "text": dict(self.text)}


def whole_number(name: str, text: str, minimum: int, maximum: int = _INT64_MAX) -> int:
    """Return ``text`` as an integer. Raises :class:`BadParameter`."""
    allowed = f"an integer from {minimum} to {maximum}"
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise BadParameter(name, f"{shown(text)} is not an integer", allowed)
    value = int(text)
    if not minimum <= value <= maximum:
        raise BadParameter(name, f"{value} is out of range", allowed)
    return value


def only_known(parameters: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Raise :class:`BadParameter` for the first parameter that is not in ``known``."""
    for name in parameters:
        if name not in known:
            raise BadParameter(shown(name), "unknown parameter", ", ".join(known) or "no parameter")


def read_json_object(known: tuple[str, ...], example: str) -> JsonObject:
    """Return the body of the current request, with no other fields than ``known``. Raises :class:`BadParameter`.

    :param example: an allowed body, which the error shows.
    """
    if request.mimetype != "application/json":
        raise BadParameter("Content-Type", f"{shown(request.mimetype)} is not supported", "application/json")
    try:
        body = json_library.loads(request.get_data(cache=False))
    except ValueError as error:
        raise BadParameter("body", f"it is not JSON: {error}", example) from None
    if not isinstance(body, dict):
        raise BadParameter("body", "it is not an object", example)
    only_known(body, known)
    return body


def short_text(name: str, text: str, maximum: int) -> str:
    """Return ``text`` when it is neither empty nor too long. Raises :class:`BadParameter`."""
    if not 1 <= len(text) <= maximum:
        raise BadParameter(name, f"it has {len(text)} characters", f"1 to {maximum} characters")
    return text


def shown(text: str) -> str:
    """Return ``text`` as an error message quotes it: never longer than a line."""
    return repr(text if len(text) <= 60 else text[:60] + "...")
