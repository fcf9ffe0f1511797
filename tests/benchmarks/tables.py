"""Tables in Markdown of what was measured, a line for each figure: medians, spread, and the ratio of the same round."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: The issue that asked for the comparison wants ours so many times as good as the real broker.
GOAL = 1.25


@dataclass(frozen=True)
class Figure:
    """One line of a table.

    :ivar values: label of a broker -> what was measured, in the order of the rounds.
    :ivar digits: behind the point.
    """

    name: str
    values: Mapping[str, Sequence[float]]
    lower_is_better: bool = False
    digits: int = 0

    def ratios(self, label: str, other: str) -> list[float]:
        """One for each round."""
        return [one / another for one, another in zip(self.values[label], self.values[other], strict=True)]

    def reaches_goal(self, ratios: Sequence[float]) -> bool:
        """Whether their median does."""
        middle = statistics.median(ratios)
        return middle <= 1 / GOAL if self.lower_is_better else middle >= GOAL


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
            cells += [spread(ratios, 2), "reached" if figure.reaches_goal(ratios) else "**missed**"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def spread(values: Sequence[float], digits: int) -> str:
    """Median, and from the least to the most where these differ: ``1,200 (1,100..1,450)``."""
    middle, least, most = (f"{one:,.{digits}f}" for one in (statistics.median(values), min(values), max(values)))
    return middle if least == most else f"{middle} ({least}..{most})"
