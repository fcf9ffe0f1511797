"""Confidence of a measured rate: Wilson's score interval.

Edwin B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927). Unlike "rate plus or
minus two standard deviations" it stays within 0 and 1 and says something useful of 0 violations in n runs.
"""

from __future__ import annotations

from math import sqrt

#: Normal quantile of a 95 % interval.
Z_95 = 1.959963984540054


def wilson_interval(hits: int, runs: int, z: float = Z_95) -> tuple[float, float]:
    """Return lower and upper bound of the rate of which ``hits`` of ``runs`` were seen; (0, 1) if nothing was run."""
    assert 0 <= hits <= runs, "there are no more hits than runs"
    if not runs:
        return 0.0, 1.0
    rate, z2 = hits / runs, z * z
    middle = (rate + z2 / (2 * runs)) / (1 + z2 / runs)
    reach = z * sqrt(rate * (1 - rate) / runs + z2 / (4 * runs * runs)) / (1 + z2 / runs)
    # If all or nothing was hit, the bound is exact; rounding must not change it.
    low = 0.0 if hits == 0 else max(0.0, middle - reach)
    high = 1.0 if hits == runs else min(1.0, middle + reach)
    return low, high
