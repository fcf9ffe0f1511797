"""Faults of links: what may happen to a parcel between two lab nodes."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol


class ParcelKind(Enum):
    """What travels over a link."""

    CONNECT = "connection request"
    ACCEPT = "connection accepted"
    FRAME = "frame"
    CLOSE = "connection closed"


class Parcel(NamedTuple):
    """One thing handed to a link. ``source`` and ``target`` are node names; ``data`` is empty unless a frame."""

    kind: ParcelKind
    source: str
    target: str
    data: bytes


class LinkFault(Protocol):
    """Decides over parcels. The first fault of the network with an opinion wins.

    A dropped frame is simply gone: unlike TCP the lab does not send it again, so that a lesson can lose
    exactly one.
    """

    def extra_delays_us(self, parcel: Parcel) -> tuple[int, ...] | None:
        """One extra delay in microseconds for each copy that arrives; ``None``: no opinion.

        ``()`` drops the parcel, ``(0,)`` lets it pass, ``(5_000,)`` delays it and all behind it, ``(0, 0)``
        delivers it twice (frames only).
        """
        ...


class Partition:
    """Nothing passes between ``left`` and ``right``, in either direction."""

    def __init__(self, left: tuple[str, ...], right: tuple[str, ...]) -> None:
        self.left = left
        self.right = right

    def extra_delays_us(self, parcel: Parcel) -> tuple[int, ...] | None:
        """Drops what crosses the line."""
        crosses = (parcel.source in self.left and parcel.target in self.right) or (
            parcel.source in self.right and parcel.target in self.left
        )
        return () if crosses else None
