"""Why something happened to a message: the answers of ``engine.lab.why``."""

from __future__ import annotations

from typing import TypedDict


class WhyStep(TypedDict):
    """One step of an answer."""

    event: int
    time_us: int
    node: str
    kind: str
    #: By language.
    text: dict[str, str]
    #: How long it took; None: it is a moment.
    span_us: int | None
    #: It comes after the moment that is asked about.
    ahead: bool


class WhyAnswer(TypedDict):
    """The answer to one question for one group."""

    question: str
    #: Empty: all groups.
    group: str
    #: Of the root cause.
    cause: str
    #: By language.
    verdict: dict[str, str]
    steps: list[WhyStep]
    #: How many steps are left out in the middle.
    omitted: int


class Why(TypedDict):
    """The answers about one message."""

    key: str
    event: int
    time_us: int
    #: The most severe first; empty if the key is unknown.
    answers: list[WhyAnswer]
