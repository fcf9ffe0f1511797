"""The link faults of a world, in the order in which they are applied.

First come faults that wait for one frame ("drop the next UPDATE_CONSUMER_OFFSET"), then partitions, then poor links.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from engine.lab.witness.frame_log import FrameLog
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind, Partition, PoorLink
from engine.runtime.lab.lab_runtime import LabMachines


@dataclass(slots=True)
class NextFrameFault:
    """A fault that waits for one frame.

    :ivar frame: a part of its name, as in :meth:`FrameLog.name_of_next`; empty: any frame.
    :ivar source: name of the sending node; empty: any.
    :ivar target: name of the receiving node; empty: any.
    :ivar delays_us: what happens to it, as in :class:`~engine.runtime.lab.lab_link_fault.LinkFault`.
    """

    frame: str
    source: str
    target: str
    delays_us: tuple[int, ...]

    def is_for_link(self, parcel: Parcel) -> bool:
        """Return whether the frame is on the link of this fault."""
        return self.source in ("", parcel.source) and self.target in ("", parcel.target)


class LinkFaults:
    """The link faults, combined as the single fault of the network."""

    def __init__(self, lab: LabMachines, sent: FrameLog) -> None:
        self._sent = sent
        self.next_frames: list[NextFrameFault] = []
        self.partitions: list[Partition] = []
        #: (source, target) -> its condition.
        self.poor_links: dict[tuple[str, str], PoorLink] = {}
        self._seed = lab.seed
        lab.network.faults.append(self)

    def extra_delays_us(self, parcel: Parcel) -> tuple[int, ...] | None:
        if self.next_frames and parcel.kind is ParcelKind.FRAME:
            opinion = self._next_frame(parcel)
            if opinion is not None:
                return opinion
        for partition in self.partitions:
            opinion = partition.extra_delays_us(parcel)
            if opinion is not None:
                return opinion
        poor = self.poor_links.get((parcel.source, parcel.target))
        return poor.extra_delays_us(parcel) if poor is not None else None

    def _next_frame(self, parcel: Parcel) -> tuple[int, ...] | None:
        name = None
        for fault in self.next_frames:
            if fault.is_for_link(parcel):
                if name is None:
                    name = self._sent.name_of_next(parcel)
                if _matches(fault.frame, name):
                    self.next_frames.remove(fault)
                    return fault.delays_us
        return None

    def poor_link(self, source: str, target: str) -> PoorLink:
        """Return the condition of one direction, for changing it."""
        if (source, target) not in self.poor_links:
            chance = random.Random(f"{self._seed}:link {source}->{target}")
            self.poor_links[source, target] = PoorLink(source, target, chance)
        return self.poor_links[source, target]

    def heal(self) -> None:
        """Reset all links, and wait for no frame."""
        self.next_frames.clear()
        self.partitions.clear()
        for poor in self.poor_links.values():
            poor.make_good()

    def heal_link(self, source: str, target: str) -> None:
        """Reset one direction, and wait for no frame there. A partition stays."""
        self.next_frames[:] = [fault for fault in self.next_frames if (fault.source, fault.target) != (source, target)]
        for partition in self.partitions:
            partition.mended[source, target] = None
        self.partitions[:] = [partition for partition in self.partitions if partition.links()]
        if (source, target) in self.poor_links:
            self.poor_links[source, target].make_good()


def _matches(wanted: str, name: str) -> bool:
    """Return whether the name matches. ``reply`` means any reply; a request's name means the request, not its reply."""
    if wanted == "":
        return True
    return name == wanted or (wanted == "reply" and name.startswith("reply"))
