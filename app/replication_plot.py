"""Draws for how long no client could send, under each fault and policy of replication, in SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.storage.plots import Bar, bars_svg

if TYPE_CHECKING:
    from engine.lab.sweep.replication_compare import ComparisonCell


def replication_svg(cells: Sequence[ComparisonCell]) -> str:
    """Return the picture: a group of bars for each fault; the label at a bar's end names losses and duplicates, too."""
    from engine.texts import Text

    groups: dict[str, list[Bar]] = {}
    for cell in cells:
        seconds = cell.unavailable_ms / 1_000
        reported = [f"{seconds:.2f} s" if cell.is_back else "to the end"]
        reported += [f"{count} {word}" for count, word in ((cell.lost, "lost"), (cell.duplicates, "doubled")) if count]
        bar = Bar(str(Text(f"replication.policy.{cell.policy}")), seconds, seconds, seconds, ", ".join(reported))
        groups.setdefault(str(Text(f"replication.fault.{cell.fault}")), []).append(bar)
    return bars_svg("How long nobody can send, and what is lost", groups)
