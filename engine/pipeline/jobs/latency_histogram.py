"""Histogram of durations, in counts that can be added: exact to the millisecond below 1,024 ms, within 0.2 % above.

A value of 1,024 ms and more shares its cell with those that agree with it in the 10 leading bits.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

_EXACT_BITS = 10


class LatencyHistogram:
    """Durations in integer milliseconds. Negative ones (two clocks that differ) count as 0, and in ``negative``."""

    def __init__(self, cells: Iterable[tuple[int, int]] = (), longest: int = 0, negative: int = 0) -> None:
        #: The shortest duration of a cell -> how many.
        self._cells = dict(cells)
        self.longest = longest
        self.negative = negative

    @property
    def count(self) -> int:
        """Return the number of durations."""
        return sum(self._cells.values())

    def add(self, durations_ms: npt.NDArray[np.int64]) -> None:
        """Add durations."""
        if not len(durations_ms):
            return
        self.negative += int((durations_ms < 0).sum())
        durations = np.maximum(durations_ms, 0)
        self.longest = max(self.longest, int(durations.max()))
        # frexp gives the number of bits exactly for anything below 2^53.
        extra_bits = np.maximum(np.frexp(durations.astype(np.float64))[1] - _EXACT_BITS, 0).astype(np.int64)
        cells, counts = np.unique((durations >> extra_bits) << extra_bits, return_counts=True)
        for cell, count in zip(cells.tolist(), counts.tolist(), strict=True):
            self._cells[cell] = self._cells.get(cell, 0) + count

    def update(self, other: LatencyHistogram) -> None:
        """Add what ``other`` has counted."""
        self.longest = max(self.longest, other.longest)
        self.negative += other.negative
        for cell, count in other._cells.items():
            self._cells[cell] = self._cells.get(cell, 0) + count

    def percentile(self, share: float) -> int:
        """Return the duration that ``share`` of all (0.5: half of them) do not exceed, by nearest rank; 0 if there are
        no durations.
        """
        rank = max(1, int(np.ceil(share * self.count - 1e-9)))
        seen = 0
        for cell in sorted(self._cells):
            seen += self._cells[cell]
            if seen >= rank:
                return min(cell, self.longest)
        return 0

    def encode(self) -> list[object]:
        """Encode for transport and storage: JSON."""
        return [sorted(self._cells.items()), self.longest, self.negative]

    @classmethod
    def decode(cls, encoded: list[object]) -> LatencyHistogram:
        """Decode what :meth:`encode` returned."""
        cells, longest, negative = encoded
        assert isinstance(cells, list) and isinstance(longest, int) and isinstance(negative, int), "our own file"
        return cls([(cell, count) for cell, count in cells], longest, negative)
