"""A call of a listener as a bar of time."""

from __future__ import annotations

from typing import TypedDict


class ListenerBar(TypedDict):
    """A call of a listener."""

    #: Number of the event with which it began.
    event: int
    node: str
    #: Of the first messages.
    keys: list[str]
    #: "topic@queue id".
    queue: str
    since_us: int
    #: None: it is under way.
    until_us: int | None
