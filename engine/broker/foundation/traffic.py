"""Messages that went in and out (in RocketMQ: several ``StatsItem`` with their ``LongAdder``)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Traffic:
    """Running totals of one topic, of one group on one topic, or of the broker.

    ``in_requests`` are send requests, ``out_requests`` pulls that found something: a batch counts once.
    """

    in_messages: int = 0
    in_bytes: int = 0
    out_messages: int = 0
    out_bytes: int = 0
    in_requests: int = 0
    out_requests: int = 0
