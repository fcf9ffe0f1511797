"""What the filter bench answers: an expression in parts, or what is wrong with it; tags and their hash codes."""

from __future__ import annotations

from typing import TypedDict


class FilterFailure(TypedDict):
    """Why a part could not be evaluated."""

    #: Name of ``engine.filter.errors.EvaluationProblem``.
    problem: str
    #: The values in its text.
    details: dict[str, str]


class FilterPart(TypedDict):
    """A part of an expression with its outcome for one message: see ``engine.filter.evaluation_tree``."""

    kind: str
    text: str
    #: Index of its first character in the expression, and of the one after its last.
    start: int
    end: int
    outcome: str
    value: str
    java_type: str
    failure: FilterFailure | None
    parts: list[FilterPart]


class FilterMistake(TypedDict):
    """Why an expression cannot be compiled."""

    text: str
    #: Name of ``engine.filter.errors.FilterProblem``.
    problem: str
    #: The values in its text.
    details: dict[str, str]
    allowed: list[str]
    position: int
    line: int
    column: int
    #: The line with the place marked below it.
    marked: str


class WantedTag(TypedDict):
    """A tag of an expression."""

    tag: str
    #: Java's hash code of it, which a consume queue stores.
    code: int


class TagsAnswer(TypedDict):
    """Whether broker and client let a message with a tag through."""

    wanted: list[WantedTag]
    #: Of the message's tag.
    code: int
    broker_lets_through: bool
    client_takes: bool


class EvaluatedFilter(TypedDict):
    """An expression with its outcome for one message."""

    matches: bool
    tree: FilterPart


class RefusedFilter(TypedDict):
    """An expression that cannot be compiled."""

    mistake: FilterMistake
