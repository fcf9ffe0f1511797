"""How much a figure grows per hour, and how sure that is, when the process was restarted several times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Neighbouring samples of memory are nearly the same: they are averaged over this many seconds before they are counted.
_BLOCK_S = 10.0
#: 97.5 % of Student's t, by degrees of freedom; beyond the last the normal's.
_T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 8: 2.31, 10: 2.23, 15: 2.13, 20: 2.09, 30: 2.04}
_T_NORMAL = 1.96

#: (seconds, value) of one process.
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Slope:
    """Growth per hour with its 95 % confidence interval, from this many minutes of samples."""

    per_hour: float
    low: float
    high: float
    minutes: float


def common_slope(lives: Iterable[Points]) -> Slope | None:
    """One slope for all lives of the process, each with its own level; None with too few samples.

    Least squares within lives. What is left over is correlated in time (an allocator holds what it took for a while),
    which would make the interval too narrow: it is widened by what the correlation of neighbours says.
    """
    blocks = [blocked for blocked in map(_blocks, lives) if len(blocked) > 1]
    count = sum(map(len, blocks))
    freedom = count - len(blocks) - 1
    centred = [_centred(life) for life in blocks]
    spread = sum(t * t for life in centred for t, _ in life)
    if freedom < 1 or not spread:
        return None
    slope = sum(t * value for life in centred for t, value in life) / spread
    left_over = [[value - slope * t for t, value in life] for life in centred]
    variance = sum(rest * rest for life in left_over for rest in life) / freedom
    correlation = _correlation(left_over)
    error = math.sqrt(variance / spread * (1 + correlation) / (1 - correlation))
    effective = max(1, round(freedom * (1 - correlation) / (1 + correlation)))
    margin = error * _student(effective)
    minutes = sum(life[-1][0] - life[0][0] for life in blocks) / 60
    return Slope(slope * 3600, (slope - margin) * 3600, (slope + margin) * 3600, minutes)


def _blocks(points: Points) -> list[tuple[float, float]]:
    """The means of blocks of ten seconds."""
    found: dict[int, list[tuple[float, float]]] = {}
    for point in points:
        found.setdefault(int(point[0] // _BLOCK_S), []).append(point)
    return [(_mean(p[0] for p in block), _mean(p[1] for p in block)) for block in found.values()]


def _centred(life: Points) -> list[tuple[float, float]]:
    """Each life's own level taken away."""
    middle, level = _mean(t for t, _ in life), _mean(value for _, value in life)
    return [(t - middle, value - level) for t, value in life]


def _correlation(lives: Sequence[Sequence[float]]) -> float:
    """Return the correlation of neighbours, 0 to 0.9."""
    squares = sum(rest * rest for life in lives for rest in life)
    products = sum(a * b for life in lives for a, b in itertools.pairwise(life))
    return min(0.9, max(0.0, products / squares)) if squares else 0.0


def _student(freedom: int) -> float:
    """The table's value for the next smaller number of degrees: rather too wide than too narrow."""
    return _T_NORMAL if freedom > 60 else _T[max(known for known in _T if known <= freedom)]


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
