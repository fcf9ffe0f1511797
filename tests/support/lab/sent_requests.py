"""Counts the requests that the nodes of a world send, by their names."""

from __future__ import annotations

from collections import Counter

from engine.lab.world.world import ScenarioWorld
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind


class SentRequests:
    """From the moment on in which it is made."""

    def __init__(self, world: ScenarioWorld) -> None:
        self._reader = world.frame_reader
        self._counts: Counter[tuple[str, str]] = Counter()
        world.watch_parcels(self._note)

    def _note(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        said = self._reader.read(*parcel[1:]) if parcel.kind is ParcelKind.FRAME else None
        if said is not None and said.name:
            self._counts[parcel.source, said.name] += 1

    def count(self, node: str, name: str) -> int:
        """How many of that name the node has sent."""
        return self._counts[node, name]
