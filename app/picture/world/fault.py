"""An active fault of a world."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Fault(TypedDict):
    """A fault, for the faults panel and the signs on nodes and links."""

    #: The command that caused it.
    kind: str
    target: str
    #: By language.
    text: dict[str, str]
    #: Number of the event after which the last such command was given; None: the scenario's own.
    event: int | None
    #: Of a fault of links: the directions that it concerns, source and target.
    links: NotRequired[list[list[str]]]
