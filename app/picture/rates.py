"""What the live broker did in one second, and over time; and what happened to it."""

from __future__ import annotations

from typing import Literal, TypedDict


class Rates(TypedDict):
    """The last full second. Percentiles are 0 if nothing was measured in it."""

    #: When it began, since 1970.
    begin_us: int
    in_messages: int
    in_bytes: int
    out_messages: int
    out_bytes: int
    put_p50_us: int
    put_p99_us: int
    #: Milliseconds, as RocketMQ's store timestamps are.
    deliver_p50_ms: int
    deliver_p99_ms: int
    #: Pulls that were answered with messages.
    pulls_found: int
    #: Pulls that found nothing.
    pulls_missed: int
    #: The lag of all groups shown.
    backlog: int


#: Name of a measure, or "begin_us" -> its value in each of the last seconds, oldest first; None: not measured.
SecondLists = dict[str, list[float | None]]


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
    begin_us: list[int]
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
