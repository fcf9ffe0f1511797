"""Faults of links: possible outcomes of a parcel between two lab nodes."""

from __future__ import annotations

import random
from enum import Enum
from typing import NamedTuple, Protocol


class ParcelKind(Enum):
    """The kinds of parcels on a link."""

    CONNECT = "connection request"
    ACCEPT = "connection accepted"
    FRAME = "frame"
    CLOSE = "connection closed"


class Parcel(NamedTuple):
    """A parcel passed to a link. ``source`` and ``target`` are node names; ``data`` is empty unless it is a frame."""

    kind: ParcelKind
    source: str
    target: str
    data: bytes


class OutOfOrder(tuple[int, ...]):
    """Delays of copies that later parcels of the same connection may overtake.

    TCP would prevent that. Frames are numbered by their senders, so both sides must handle it nevertheless: with
    several connections, or several threads per connection, replies do arrive in any order.
    """

    __slots__ = ()


class LinkFault(Protocol):
    """A fault that decides about parcels. The first fault of the network that decides wins.

    A dropped frame is lost: unlike TCP the lab does not retransmit it, so that a lesson can lose exactly one.
    """

    def extra_delays_us(self, parcel: Parcel) -> tuple[int, ...] | None:
        """Return an extra delay in microseconds for each copy that arrives; ``None``: no decision.

        ``()`` drops the parcel, ``(0,)`` lets it pass, ``(5_000,)`` delays it and all after it, ``(0, 0)`` delivers it
        twice (frames only). As :class:`OutOfOrder` they do not delay later parcels.
        """
        ...


class Partition:
    """A partition: nothing passes from ``left`` to ``right``, nor back, unless ``one_way``.

    :ivar mended: directions (source, target) that it no longer cuts.
    """

    def __init__(self, left: tuple[str, ...], right: tuple[str, ...], *, one_way: bool = False) -> None:
        self.left = left
        self.right = right
        self.one_way = one_way
        self.mended: dict[tuple[str, str], None] = {}

    def links(self) -> list[tuple[str, str]]:
        """Return the directions of links that the fault cuts."""
        cut = [(source, target) for source in self.left for target in self.right]
        if not self.one_way:
            cut += [(source, target) for source in self.right for target in self.left]
        return [link for link in cut if link not in self.mended]

    def extra_delays_us(self, parcel: Parcel) -> tuple[int, ...] | None:
        """Drop parcels that cross the partition."""
        crosses = (parcel.source in self.left and parcel.target in self.right) or (
            not self.one_way and parcel.source in self.right and parcel.target in self.left
        )
        return () if crosses and (parcel.source, parcel.target) not in self.mended else None


class PoorLink:
    """One direction of a link that is slow, or loses, duplicates or reorders frames.

    Each frame draws one random number per property, whatever the others decide: so changing one ratio does not change
    the effect of the same seed on another.

    :param chance: the random generator, which is not shared.
    """

    def __init__(self, source: str, target: str, chance: random.Random) -> None:
        self.source = source
        self.target = target
        #: The delay added to the latency of all parcels.
        self.delay_us = 0
        #: The shares of affected frames, 0.0 to 1.0.
        self.loss_ratio = 0.0
        self.duplicate_ratio = 0.0
        self.reorder_ratio = 0.0
        #: The additional delay of a reordered frame.
        self.reorder_delay_us = 20_000
        self._chance = chance

    def make_good(self) -> None:
        """Make the link behave like a good one. Its random numbers continue."""
        self.delay_us = 0
        self.loss_ratio = self.duplicate_ratio = self.reorder_ratio = 0.0

    def extra_delays_us(self, parcel: Parcel) -> tuple[int, ...] | None:
        if parcel.source != self.source or parcel.target != self.target:
            return None
        if parcel.kind is not ParcelKind.FRAME:
            return (self.delay_us,)
        loss, duplicate, reorder = (self._chance.random() for _ in range(3))
        if loss < self.loss_ratio:
            return ()
        if reorder < self.reorder_ratio:
            return OutOfOrder((self.delay_us + self.reorder_delay_us,))
        return (self.delay_us,) * (2 if duplicate < self.duplicate_ratio else 1)
