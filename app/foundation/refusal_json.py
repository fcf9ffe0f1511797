"""The refusal of outside input as the JSON that an HTTP API answers."""

from __future__ import annotations

from typing import TypedDict

from engine.fields.refusal import FieldRefused, in_language


class RefusedField(TypedDict):
    """The refusal of a request with an invalid field."""

    #: In English.
    error: str
    parameter: str
    #: In English, as the next.
    problem: str
    allowed: str
    #: By language.
    text: dict[str, str]


def refusal_json(refused: FieldRefused) -> RefusedField:
    """Return the body of the answer: the error, its parts, and its text in each language."""
    return {
        "error": str(refused),
        "parameter": refused.path,
        "problem": in_language(refused.problem, "en"),
        "allowed": in_language(refused.allowed, "en"),
        "text": dict(refused.sentence or refused.text),
    }
