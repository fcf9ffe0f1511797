"""The actors and the running timers of a lab world, and its next step."""

from __future__ import annotations

from typing import TypedDict


class Actor(TypedDict):
    """A task or a link."""

    name: str
    node: str
    #: What it will do next, where that is known.
    label: str
    #: 0: it is not held.
    held_until_us: int
    #: How many events it has had.
    steps: int
    #: It has an event that waits.
    ready: bool


class Timer(TypedDict):
    """A timer that runs."""

    node: str
    actor: str
    label: str
    started_us: int
    due_us: int
    #: Among the timers of its actor that are due then.
    index: int


class NextStep(TypedDict):
    """The next event of the world."""

    actor: str
    node: str
    label: str
    due_us: int
    #: Where in the engine's source it continues; empty: not known.
    file: str
    #: 0: not known.
    line: int
    function: str
