"""The report of a run: plots and figures by name, for which the page has the texts (``storage.plot.NAME``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from app.storage.progress import ProgressCallback

#: One point of a line.
Point = tuple[float, float]


@dataclass(slots=True)
class Plot:
    """Lines over a common axis.

    :ivar name: the name of its texts: ``storage.plot.NAME`` (title), ``.x`` and ``.y`` (what the axes show).
    :ivar lines: by name, ``storage.line.NAME``.
    :ivar is_log: both axes are logarithmic.
    :ivar is_strip: the points have no lines between them.
    """

    name: str
    lines: dict[str, list[Point]] = field(default_factory=dict)
    is_log: bool = True
    is_strip: bool = False

    def add(self, line: str, x: float, y: float) -> None:
        """Add a point to that line; a point at 0 is left out of a logarithmic plot."""
        if y <= 0 and self.is_log:
            return
        self.lines.setdefault(line, []).append((x, y))


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim that the figures confirm or refute: ``storage.fact.NAME.holds`` or ``.fails``, with ``values``."""

    name: str
    holds: bool
    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    :ivar name: ``storage.table.NAME``; columns are ``storage.column.NAME``, words in cells ``storage.cell.NAME``.
    """

    name: str
    columns: list[str]
    rows: list[list[str | float]]


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report of a run. ``machine``: where the figures are from."""

    machine: str
    plots: list[Plot]
    facts: list[Fact] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


#: The function of a run: it works in a folder of its own, reports its progress, and returns a report.
Work = Callable[[Path, ProgressCallback], Report]
