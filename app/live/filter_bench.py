"""The filter bench: a page for trying expressions, which the broker's own code evaluates.

``evaluate`` answers :class:`~app.picture.live.filter.EvaluatedFilter`, or
:class:`~app.picture.live.filter.RefusedFilter` for an expression that cannot be compiled; ``tags`` answers
:class:`~app.picture.live.filter.TagsAnswer`. Nothing is stored and no broker is involved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response

from app.web.api import json_answer
from app.web.api_parameters import read_json
from engine.fields.field import Field
from engine.fields.refusal import FieldRefused
from engine.filter.compiler import compile_expression
from engine.filter.errors import FilterSyntaxError
from engine.filter.evaluation_tree import EvaluatedPart, PartOutcome, evaluate_parts
from engine.protocol.body.subscription_data import build_subscription_data
from engine.protocol.errors import ProtocolError
from engine.protocol.java_hash import java_string_hash

if TYPE_CHECKING:
    from app.picture.live.filter import EvaluatedFilter, FilterMistake, FilterPart, RefusedFilter, TagsAnswer

#: Characters of an expression; less than a broker takes, because a person types it and its tree is drawn.
EXPRESSION_MAX = 1_000
PROPERTIES_MAX = 30
TAG_MAX = 100
VALUE_MAX = 1_000
TAGS_MAX = 500


def add_filter_routes(api: Blueprint) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`, whose error handling they use."""

    @api.post("/filter/evaluate")
    def evaluate() -> Response:
        text, properties = read_json(
            Field("expression", "text", 0, EXPRESSION_MAX),
            Field("properties", "texts", 0, PROPERTIES_MAX, default={}, each=VALUE_MAX),
        ).values()
        try:
            tree = evaluate_parts(compile_expression(text), properties)
        except FilterSyntaxError as error:
            refused: RefusedFilter = {"mistake": _mistake_json(error)}
            return json_answer(refused)
        answer: EvaluatedFilter = {"matches": tree.outcome is PartOutcome.TRUE, "tree": _part_json(tree)}
        return json_answer(answer)

    @api.post("/filter/tags")
    def compare_tags() -> Response:
        text, tag = read_json(
            Field("expression", "text", 0, TAGS_MAX), Field("tag", "text", 0, TAG_MAX, default=None)
        ).values()
        return json_answer(_tags_json(text, tag or None))


def _mistake_json(error: FilterSyntaxError) -> FilterMistake:
    return {
        "text": f"{error.place}: {error.why}",
        "problem": error.problem.value,
        "details": {**error.details, "allowed": ", ".join(error.allowed)},
        "allowed": list(error.allowed),
        "position": error.position,
        "line": error.line,
        "column": error.column,
        "marked": error.marked(),
    }


def _part_json(part: EvaluatedPart) -> FilterPart:
    failure = part.failure
    return {
        "kind": part.kind,
        "text": part.text,
        "start": part.start,
        "end": part.end,
        "outcome": part.outcome.value,
        "value": part.value,
        "java_type": part.java_type,
        "failure": None if failure is None else {"problem": failure.problem.value, "details": {**failure.details}},
        "parts": [_part_json(below) for below in part.parts],
    }


def _tags_json(expression: str, tag: str | None) -> TagsAnswer:
    try:
        subscription = build_subscription_data("T", expression)
    except ProtocolError as error:
        raise FieldRefused("expression", str(error), "* or TagA || TagB") from None
    code = java_string_hash(tag) if tag is not None else 0
    lets_through = subscription.matches_tags_code(code)
    return {
        "wanted": [{"tag": wanted, "code": java_string_hash(wanted)} for wanted in subscription.tags_set],
        "code": code,
        "broker_lets_through": lets_through,
        "client_takes": lets_through and subscription.matches_tag(tag),
    }
