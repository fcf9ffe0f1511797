"""What the live broker did in one second, and over time."""

from __future__ import annotations

from typing import TypedDict


class Rates(TypedDict):
    """The last full second. Percentiles are 0 if nothing was measured in it."""

    #: Since 1970.
    second: int
    in_messages: int
    in_bytes: int
    out_messages: int
    out_bytes: int
    put_p50_us: int
    put_p99_us: int
    deliver_p50_ms: int
    deliver_p99_ms: int
    #: Pulls that were answered with messages.
    pulls_found: int
    #: Pulls that found nothing.
    pulls_missed: int
    #: The lag of all groups shown.
    backlog: int
