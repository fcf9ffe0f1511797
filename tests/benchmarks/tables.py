"""Tables in Markdown of what was measured, a line for each figure: medians, spread, and the ratio of the same round."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of a table.

    :ivar values: label of a broker -> what was measured, in the order of the rounds.
    :ivar goal: the ratio that is wanted, ours to the real broker's; None: any.
    :ivar digits: decimal places.
    """

    name: str
    values: Mapping[str, Sequence[float]]
    goal: float | None = None
    lower_is_better: bool = False
    digits: int = 0

    def ratios(self, label: str, other: str) -> list[float]:
        """One for each round."""
        return [one / another for one, another in zip(self.values[label], self.values[other], strict=True)]

    def verdict(self, ratios: Sequence[float]) -> str:
        """The goal, and whether the median of ``ratios`` reaches it."""
        if self.goal is None:
            return "none"
        middle = statistics.median(ratios)
        is_reached = middle <= self.goal if self.lower_is_better else middle >= self.goal
        return f"{self.goal:g}: {'reached' if is_reached else '**missed**'}"


def figure_table(head: str, figures: Sequence[Figure], labels: Sequence[str], real: str | None) -> str:
    """A column for each of ``labels``; where ``real`` is one of several, the ratio of the first to it, and the goal."""
    compared = real if real in labels[1:] else None
    heads, lines = [head, *labels], []
    if compared:
        heads += [f"{labels[0]} / {compared}", "goal"]
    lines.append(f"| {' | '.join(heads)} |")
    lines.append("|---|" + "---:|" * (len(heads) - 1))
    for figure in figures:
        cells = [figure.name, *(spread(figure.values[label], figure.digits) for label in labels)]
        if compared:
            ratios = figure.ratios(labels[0], compared)
            cells += [spread(ratios, 2), figure.verdict(ratios)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def spread(values: Sequence[float], digits: int) -> str:
    """Median, and from the least to the most where these differ: ``1,200 (1,100..1,450)``."""
    middle, least, most = (f"{one:,.{digits}f}" for one in (statistics.median(values), min(values), max(values)))
    return middle if least == most else f"{middle} ({least}..{most})"
