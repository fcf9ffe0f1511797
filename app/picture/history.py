"""The past of the live broker: figures by second or coarser, and what happened to it meanwhile."""

from __future__ import annotations

from typing import Literal, TypedDict


class Measure(TypedDict):
    """The values of one measure in each cell of a history; None where nothing was measured."""

    min: list[float | None]
    max: list[float | None]
    mean: list[float | None]


class HistoryCells(TypedDict):
    """A stretch of the history in cells of one width."""

    #: Seconds that a cell covers.
    resolution_s: int
    #: When each cell begins, since 1970.
    seconds: list[int]
    #: By name: see ``app.watch.history.MEASURES``.
    measures: dict[str, Measure]


class BrokerEvent(TypedDict):
    """Something that happened to the live broker; plots mark it."""

    #: By the broker's clock, since 1970.
    at_us: int
    #: A rebalance is a change of the members of consumer groups.
    kind: Literal["start", "stop", "fault_on", "fault_off", "rebalance"]
    #: By language.
    text: dict[str, str]


class History(HistoryCells):
    """What a page asks for: a stretch, and the events in it."""

    events: list[BrokerEvent]
