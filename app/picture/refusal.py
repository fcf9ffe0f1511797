"""Why a request was refused."""

from __future__ import annotations

from typing import TypedDict

from engine.fields.refusal import FieldRefused, in_language


class RefusedRequest(TypedDict):
    """A request that was refused."""

    #: In English.
    error: str
    #: By language.
    text: dict[str, str]


class Refusal(RefusedRequest):
    """A request that was refused for a reason that has a name."""

    reason: str


class RefusedField(RefusedRequest):
    """A request that was refused for an invalid field."""

    parameter: str
    #: In English, as the next.
    problem: str
    allowed: str


def refusal_json(refused: FieldRefused) -> RefusedField:
    """Return the error, its parts, and its text in each language."""
    return {
        "error": str(refused),
        "parameter": refused.path,
        "problem": in_language(refused.problem, "en"),
        "allowed": in_language(refused.allowed, "en"),
        "text": dict(refused.sentence or refused.text),
    }
