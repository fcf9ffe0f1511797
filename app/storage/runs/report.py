"""What a run brings: plots and figures by name, which the page puts into words (``storage.plot.NAME``)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from app.foundation.json_types import JsonObject

#: One point of a line.
Point = tuple[float, float]


@dataclass(slots=True)
class Plot:
    """Lines over a common axis.

    :ivar name: of its texts: ``storage.plot.NAME`` (title), ``.x`` and ``.y`` (what the axes show).
    :ivar lines: by name, ``storage.line.NAME``.
    :ivar is_log: both axes by powers of ten.
    :ivar is_strip: points without lines between them.
    """

    name: str
    lines: dict[str, list[Point]] = field(default_factory=dict)
    is_log: bool = True
    is_strip: bool = False

    def add(self, line: str, x: float, y: float) -> None:
        """A further point of that line; what is nothing has no place on an axis of powers."""
        if y <= 0 and self.is_log:
            return
        self.lines.setdefault(line, []).append((x, y))


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim that the figures bear out or not: ``storage.fact.NAME.holds`` or ``.fails``, with ``values``."""

    name: str
    holds: bool
    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class Table:
    """:ivar name: ``storage.table.NAME``; columns are ``storage.column.NAME``, words in cells ``storage.cell.NAME``."""

    name: str
    columns: list[str]
    rows: list[list[str | float]]


@dataclass(frozen=True, slots=True)
class Report:
    """All that a run brings. ``machine``: where the figures are from."""

    machine: str
    plots: list[Plot]
    facts: list[Fact] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    def as_json(self) -> JsonObject:
        """All of it."""
        return asdict(self)
