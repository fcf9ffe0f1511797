"""Sequence numbers that a producer gives its messages, so that a loss can be proved. RocketMQ has no such feature.

Two user properties travel with each message::

    PRODUCER_ID      group@unique id      one run of one producer; a restart makes another
    SEQUENCE_NUMBER  0, 1, 2, ...         without gaps per producer and topic

When the producer shuts down normally, it sends a *ledger* per topic, a separate message in NUMBERING_LEDGER_TOPIC: how
many numbers it assigned, and which of them were reported as not stored. A consumer of the topic does not see the
ledger.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.protocol.errors import MalformedBody

PRODUCER_ID_PROPERTY = "PRODUCER_ID"
SEQUENCE_NUMBER_PROPERTY = "SEQUENCE_NUMBER"

#: The topic of ledgers, unless a producer is configured otherwise.
NUMBERING_LEDGER_TOPIC = "NUMBERING_LEDGER"
#: The maximum number of ranges in one ledger, per kind: some 200 KB of JSON.
LEDGER_RANGES_MAX = 10_000
#: The maximum size of a ledger: 20,000 ranges of the greatest numbers, and two names of 32 KB.
LEDGER_BYTES_MAX = 1 << 20

#: First and last number.
NumberRange = tuple[int, int]


@dataclass(frozen=True, slots=True)
class NumberingLedger:
    """One producer's record of its sequence numbers in one topic.

    :ivar numbered: how many numbers it assigned: 0 to ``numbered - 1``.
    :ivar refused: numbers certainly not stored, as the application was informed, and those that a transaction rolled
        back.
    :ivar unknown: numbers whose outcome was never reported: oneway, no reply, an open transaction, stored but not
        flushed.
    :ivar is_complete: False if there were more ranges than a ledger holds; then a gap may be one of those left out.
    """

    producer_id: str
    topic: str
    numbered: int
    refused: tuple[NumberRange, ...] = ()
    unknown: tuple[NumberRange, ...] = ()
    is_complete: bool = True

    def encode(self) -> bytes:
        """Encode the ledger as JSON."""
        return json.dumps(
            {
                "producerId": self.producer_id,
                "topic": self.topic,
                "numbered": self.numbered,
                "refused": self.refused,
                "unknown": self.unknown,
                "isComplete": self.is_complete,
            },
            separators=(",", ":"),
        ).encode()

    @classmethod
    def decode(cls, body: bytes) -> NumberingLedger:
        """Decode a ledger. Raises :class:`MalformedBody` for anything else, and for one over the limits."""
        if len(body) > LEDGER_BYTES_MAX:
            raise MalformedBody(f"a numbering ledger has at most {LEDGER_BYTES_MAX} bytes, this one {len(body)}")
        try:
            fields: dict[str, Any] = json.loads(body)
            ledger = cls(
                fields["producerId"],
                fields["topic"],
                fields["numbered"],
                _ranges(fields["refused"]),
                _ranges(fields["unknown"]),
                fields["isComplete"] is True,
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MalformedBody(f"a numbering ledger: {error!r}") from error
        texts = (fields["producerId"], fields["topic"])
        if not all(isinstance(text, str) for text in texts) or not _is_number(ledger.numbered):
            raise MalformedBody("a numbering ledger: producerId and topic must be texts, numbered a number")
        return ledger


def _ranges(pairs: Iterable[Iterable[int]]) -> tuple[NumberRange, ...]:
    ranges: list[NumberRange] = []
    for first, last in pairs:
        if not (_is_number(first) and _is_number(last) and first <= last):
            raise ValueError(f"[{first!r}, {last!r}] is not a range of numbers")
        if ranges and first <= ranges[-1][1]:
            raise ValueError(f"[{first}, {last}] does not come after {list(ranges[-1])}")
        ranges.append((first, last))
    if len(ranges) > LEDGER_RANGES_MAX:
        raise ValueError(f"{len(ranges)} ranges; allowed: {LEDGER_RANGES_MAX}")
    return tuple(ranges)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def sequence_number_of(properties: Mapping[str, str], producer_id: str) -> int | None:
    """Return the sequence number given by ``producer_id``; None if that producer did not number the message."""
    if properties.get(PRODUCER_ID_PROPERTY) != producer_id:
        return None
    text = properties.get(SEQUENCE_NUMBER_PROPERTY, "")
    return int(text) if text.isascii() and text.isdigit() else None
