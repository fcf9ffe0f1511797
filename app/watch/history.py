"""The history of a broker over the last 24 hours in bounded memory, coarser where it is older.

Three tiers keep the same seconds in cells of 1 s, 10 s and 60 s. A cell has the lowest, the highest and the mean value
of each measure; a measure without a value (the latency of a second without messages) is left out of it. Nothing is
stored on disk: a broker that restarts begins an empty history.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.picture.rates import HistoryCells, Measure

#: What is kept, and the measure on which a value depends: it counts only where that one is not 0.
MEASURES: Mapping[str, str | None] = {
    "in_messages": None,
    "out_messages": None,
    "in_bytes": None,
    "out_bytes": None,
    "put_p50_us": "in_messages",
    "put_p99_us": "in_messages",
    "deliver_p50_ms": "out_messages",
    "deliver_p99_ms": "out_messages",
    "backlog": None,
}
#: Seconds that a cell covers -> how many cells are kept: ten minutes, two hours, a day.
TIERS: Mapping[int, int] = {1: 600, 10: 720, 60: 1_440}
#: The longest period that can be requested, in seconds.
LONGEST_S = max(width * count for width, count in TIERS.items())


@dataclass(frozen=True, slots=True)
class _Column:
    """One measure of a tier: ring buffers of the cells' values."""

    lowest: array[float]
    highest: array[float]
    total: array[float]
    count: array[int]


class _Tier:
    """Cells of one width, in a ring buffer."""

    def __init__(self, width_s: int, cells: int) -> None:
        self.width_s = width_s
        self.cells = cells
        #: Number of the cell (seconds since 1970 by width) at a place of the ring; -1 when empty.
        self._numbers = array("q", [-1]) * cells
        room = bytes(8 * cells)
        self._columns = {
            name: _Column(array("d", room), array("d", room), array("d", room), array("q", room)) for name in MEASURES
        }

    def add(self, second: int, values: Mapping[str, float]) -> None:
        number = second // self.width_s
        place = number % self.cells
        if self._numbers[place] != number:
            self._numbers[place] = number
            for column in self._columns.values():
                column.count[place] = 0
                column.total[place] = 0.0
        for name, value in values.items():
            column = self._columns[name]
            is_first = not column.count[place]
            column.lowest[place] = value if is_first else min(column.lowest[place], value)
            column.highest[place] = value if is_first else max(column.highest[place], value)
            column.total[place] += value
            column.count[place] += 1

    def forget_from(self, second: int) -> None:
        for place, number in enumerate(self._numbers):
            if number >= second // self.width_s:
                self._numbers[place] = -1

    def between(self, first: int, last: int, names: Iterable[str]) -> HistoryCells:
        """Return all cells that have a second from ``first`` to ``last``; None where nothing was measured."""
        numbers = range(first // self.width_s, last // self.width_s + 1)
        places = [number % self.cells if self._numbers[number % self.cells] == number else None for number in numbers]
        known = [index for index, place in enumerate(places) if place is not None]
        if not known:
            return {"resolution_s": self.width_s, "begin_us": [], "measures": {}}
        # Cut what is before the first cell and after the last one: only gaps between them are shown.
        places = places[known[0] : known[-1] + 1]
        start = numbers[known[0]]
        begin_us = [number * self.width_s * 1_000_000 for number in range(start, start + len(places))]
        measures = {name: _measure(self._columns[name], places) for name in names}
        return {"resolution_s": self.width_s, "begin_us": begin_us, "measures": measures}


def _measure(column: _Column, places: list[int | None]) -> Measure:
    def values(ring: array[float], mean: bool = False) -> list[float | None]:
        figures: list[float | None] = []
        for place in places:
            count = 0 if place is None else column.count[place]
            figures.append(
                round(ring[place] / count if mean else ring[place], 2) if place is not None and count else None
            )
        return figures

    return {"min": values(column.lowest), "max": values(column.highest), "mean": values(column.total, mean=True)}


class History:
    """The tiers. Seconds come in order; one that comes again or late is left out."""

    def __init__(self) -> None:
        self._tiers = [_Tier(width, cells) for width, cells in TIERS.items()]
        self.last_second = -1

    def add(self, second: int, values: Mapping[str, float]) -> None:
        """Add what happened in ``second`` (since 1970): a value for each of :data:`MEASURES` that was sampled."""
        if second <= self.last_second:
            return
        self.last_second = second
        measured = {
            name: values[name]
            for name, needs in MEASURES.items()
            if name in values and (needs is None or values[needs])
        }
        for tier in self._tiers:
            tier.add(second, measured)

    def forget_from(self, second: int) -> None:
        """Forget the cells from ``second`` on, because the clock was set back; earlier ones stay."""
        if second <= self.last_second:
            self.last_second = second - 1
            for tier in self._tiers:
                tier.forget_from(second)

    def between(self, first: int, last: int, names: Iterable[str] = MEASURES) -> HistoryCells:
        """Return the cells of the seconds ``first`` to ``last``.

        The finest tier that still has ``first`` is used.
        """
        last = min(last, self.last_second)
        for tier in self._tiers:
            oldest = self.last_second - tier.width_s * (tier.cells - 1)
            if first >= oldest:
                return tier.between(first, last, names)
        coarsest = self._tiers[-1]
        return coarsest.between(max(first, self.last_second - LONGEST_S + coarsest.width_s), last, names)
