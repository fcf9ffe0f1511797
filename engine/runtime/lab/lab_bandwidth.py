"""The bandwidth of the lab's links, and the effect of a cut on a partly sent frame.

Each direction of each link carries one frame after the other. A long frame makes the next one wait, and until its last
byte has left, a cut loses all of it: the longer a frame, the likelier that is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from engine.runtime.lab.lab_event import LabEvent
from engine.runtime.lab.lab_link_fault import Parcel, Partition

#: One direction of a link: (source, target).
_Direction = tuple[str, str]


class _UnderWay(NamedTuple):
    """A frame on a link. ``left_us``: when its last byte leaves the sender; ``lost``: called if it never arrives."""

    left_us: int
    parcel: Parcel
    arrival: LabEvent
    lost: Callable[[], None]


class LabBandwidth:
    """The bandwidth of all links.

    :param bytes_per_s: for each direction of each link.
    """

    def __init__(self, bytes_per_s: int) -> None:
        assert bytes_per_s > 0
        self._bytes_per_s = bytes_per_s
        self._free_us: dict[_Direction, int] = {}
        self._under_way: dict[_Direction, deque[_UnderWay]] = {}

    def leaves_after_us(self, parcel: Parcel, now_us: int) -> int:
        """Return how long it takes until the last byte of ``parcel`` has left its sender; the link is in use until
        then.
        """
        direction = parcel.source, parcel.target
        begin_us = max(now_us, self._free_us.get(direction, 0))
        self._free_us[direction] = begin_us + len(parcel.data) * 1_000_000 // self._bytes_per_s
        return self._free_us[direction] - now_us

    def note(self, parcel: Parcel, arrival: LabEvent, now_us: int, lost: Callable[[], None]) -> None:
        """Record ``arrival``, the event in which ``parcel``, the last one asked about, arrives."""
        direction = parcel.source, parcel.target
        frames = self._under_way.setdefault(direction, deque())
        while frames and frames[0].left_us <= now_us:
            frames.popleft()
        frames.append(_UnderWay(self._free_us[direction], parcel, arrival, lost))

    def cut(self, partition: Partition, now_us: int) -> list[Parcel]:
        """Remove and return the parcels that have not completely left when ``partition`` begins."""
        lost: list[Parcel] = []
        for direction, frames in self._under_way.items():
            for frame in frames:
                if frame.arrival.is_cancelled:
                    continue
                if frame.left_us > now_us and partition.extra_delays_us(frame.parcel) == ():
                    frame.arrival.cancel()
                    frame.lost()
                    lost.append(frame.parcel)
            self._under_way[direction] = deque(frame for frame in frames if not frame.arrival.is_cancelled)
        return lost
