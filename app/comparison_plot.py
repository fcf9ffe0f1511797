"""Draws the figures of a comparison as small bar charts, one per figure, in SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.lab.sweep.comparison import ComparedRun

#: Short names of the figures, in the order in which they are shown; see :mod:`engine.lab.sweep.client_figures`.
HEADINGS: Mapping[str, str] = {
    "messages": "messages",
    "seconds": "seconds",
    "per_second": "per second",
    "pulls": "pulls",
    "largest_pull": "largest pull",
    "pull_ms": "ms per pull",
    "pulled_again": "pulled again",
    "calls": "calls",
    "threads_busy": "threads busy",
    "consumed_again": "consumed again",
    "without_need": "needless",
    "never_consumed": "never consumed",
    "requests": "requests",
    "bytes_per_message": "bytes per message",
    "reply_ms": "ms until reply",
    "not_acknowledged": "not acknowledged",
}

_PANEL_WIDTH, _PANEL_HEIGHT, _COLUMNS = 200, 150, 4
_BAR_TOP, _BAR_BOTTOM = 44, 122
_INK, _PALE, _BAR = "#3b4252", "#6b7280", "#2f6f9f"


def comparison_svg(runs: Sequence[ComparedRun], title: str) -> str:
    """Return the picture. Figures that are the same in all runs are left out: they show nothing about the setting."""
    rows = [run.figures.to_dict() for run in runs]
    names = [name for name in rows[0] if len({str(row[name]) for row in rows}) > 1]
    values = [str(run.change.value) for run in runs]
    height = 34 + _PANEL_HEIGHT * -(-len(names) // _COLUMNS)
    width = _PANEL_WIDTH * _COLUMNS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-size="15" fill="{_INK}">{escape(title)}</text>',
    ]
    for index, name in enumerate(names):
        left, top = index % _COLUMNS * _PANEL_WIDTH, 34 + index // _COLUMNS * _PANEL_HEIGHT
        parts.append(f'<g transform="translate({left} {top})">')
        parts += _panel(HEADINGS[name], values, [_number(row[name]) for row in rows])
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _panel(heading: str, values: Sequence[str], figures: Sequence[float]) -> list[str]:
    """Return one chart, with the figure above every bar and the setting's value below it."""
    parts = [f'<text x="12" y="22" font-size="13" fill="{_INK}">{escape(heading)}</text>']
    slot = (_PANEL_WIDTH - 24) / len(figures)
    highest = max(figures) or 1.0
    for index, (value, figure) in enumerate(zip(values, figures, strict=True)):
        bar_height = round((_BAR_BOTTOM - _BAR_TOP) * figure / highest, 1)
        middle = round(12 + slot * (index + 0.5), 1)
        top = round(_BAR_BOTTOM - bar_height, 1)
        bar = f'x="{round(middle - slot * 0.32, 1)}" y="{top}" width="{round(slot * 0.64, 1)}" height="{bar_height}"'
        parts.append(f'<rect {bar} fill="{_BAR}"/>')
        parts.append(_label(middle, top - 4, _INK, f"{figure:g}"))
        parts.append(_label(middle, _BAR_BOTTOM + 14, _PALE, value))
    parts.append(f'<path d="M12 {_BAR_BOTTOM} H{_PANEL_WIDTH - 12}" stroke="{_PALE}" stroke-width="1"/>')
    return parts


def _label(x: float, y: float, colour: str, text: str) -> str:
    return f'<text x="{x}" y="{round(y, 1)}" font-size="10" text-anchor="middle" fill="{colour}">{escape(text)}</text>'


def _number(figure: object) -> float:
    assert isinstance(figure, int | float)
    return float(figure)
