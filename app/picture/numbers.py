"""What became of the numbers that producers gave their messages: what was lost on the way into the store."""

from __future__ import annotations

from typing import TypedDict


class NumberCounts(TypedDict):
    """Counts of numbers, of one producer or of a topic."""

    numbered: int
    #: Different numbers.
    stored: int
    missing: int
    refused: int
    #: Missing, and the producer does not know either.
    unknown: int
    #: Missing too recently to be judged.
    open: int
    twice: int
    out_of_order: int
    #: Too many to be kept: not judged.
    forgotten: int


class NumbersOfProducer(NumberCounts):
    """The numbers of one producer."""

    producer: str
    #: The number from which on it is judged.
    first: int
    has_ended: bool
    #: The first stretches that are missing: first and last number.
    ranges: list[list[int]]
    #: The same for those that are unknown.
    unknown_ranges: list[list[int]]


class NumbersOfTopic(NumberCounts):
    """The numbers of all producers of a topic."""

    #: Positions that could not be read.
    unseen: int
    #: Messages that were read.
    read: int
    #: The worst first.
    producers: list[NumbersOfProducer]
    #: Group -> number of the read messages that its offsets have passed.
    groups: dict[str, int]


class Numbers(TypedDict):
    """The numbers in all topics that have some."""

    #: A number is missing once a higher number was stored this long ago.
    settling_ms: int
    #: Messages of these topics that were not read yet.
    unread: int
    #: Messages of producers beyond the bound of the report.
    no_room: int
    #: Producers that are not listed; the counts of their topic include them.
    omitted: int
    topics: dict[str, NumbersOfTopic]
