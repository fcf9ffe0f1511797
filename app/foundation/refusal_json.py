"""The refusal of outside input as the JSON that an HTTP API answers."""

from __future__ import annotations

from app.foundation.json_types import JsonObject
from engine.fields.refusal import FieldRefused, in_language


def refusal_json(refused: FieldRefused) -> JsonObject:
    """Return the body of the answer: the error, its parts, and its text in each language."""
    return {
        "error": str(refused),
        "parameter": refused.path,
        "problem": in_language(refused.problem, "en"),
        "allowed": in_language(refused.allowed, "en"),
        "text": dict(refused.sentence or refused.text),
    }
