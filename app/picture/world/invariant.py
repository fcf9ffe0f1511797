"""The invariants of a lab world, and how they were violated."""

from __future__ import annotations

from typing import TypedDict


class Violation(TypedDict):
    """A violated invariant."""

    checker: str
    #: Its name in the literature.
    anomaly: str
    #: The event after which it was found.
    event: int
    time_us: int
    #: What to mark: some of node, group, topic, queue ("topic@queue id"), offset, message (key).
    element: dict[str, str | int]
    #: Keys of the messages concerned.
    messages: list[str]
    #: Why, by language.
    text: dict[str, str]


class Invariant(TypedDict):
    """What a checker holds."""

    #: Of the checker.
    name: str
    #: By language, like the next.
    title: dict[str, str]
    why: dict[str, str]
    anomaly: str
    ok: bool
    violations: list[Violation]
