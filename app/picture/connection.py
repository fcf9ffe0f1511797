"""A connection of the live broker and its client."""

from __future__ import annotations

from typing import TypedDict


class Connection(TypedDict):
    """One connection; the picture has them by remote address."""

    client_ids: list[str]
    #: None before the first frame.
    language: str | None
    version: int
    #: "producer", "consumer" or both; ["admin"] without a heartbeat.
    role: list[str]
    producer_groups: list[str]
    consumer_groups: list[str]
    frames_in: int
    frames_out: int
    #: Bytes that the client has not read yet.
    unsent_bytes: int
