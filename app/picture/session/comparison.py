"""Two runs next to each other."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class ComparedLinks(TypedDict):
    """The links of a run and of its variant."""

    left: str
    right: str


class ComparedSide(TypedDict):
    """What one of two runs did last."""

    #: By language; None without one for this event.
    caption: dict[str, str] | None
    node: str
    actor: str
    label: str


class FirstDifference(TypedDict):
    """Where two runs begin to differ."""

    #: None: both were the same up to ``events`` and ``time_us``.
    event: int | None
    events: NotRequired[int]
    time_us: int
    left: NotRequired[ComparedSide]
    right: NotRequired[ComparedSide]
