"""Pictures of measured figures in SVG: bars for alternatives, curves for what grows, dots for writes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

_INK, _PALE, _GRID = "#3b4252", "#6b7280", "#d8dee9"
#: The colours of Okabe and Ito, which people with colour blindness can tell apart; each also has a shape.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_DASHES = ("", "6 4", "2 3", "8 3 2 3")
_WIDTH = 800
_BAR_ROW, _BAR_LEFT, _BAR_RIGHT, _TOP = 24, 300, 680, 40
_PANEL_WIDTH, _PANEL_HEIGHT, _COLUMNS = 400, 230, 2
_LEFT, _RIGHT, _UP, _DOWN = 76, 362, 44, 186
_STRIP_HEIGHT = 130
_SMALL_WIDTH, _SMALL_HEIGHT, _SMALL_COLUMNS = 200, 150, 4
_COLUMN_TOP, _COLUMN_BOTTOM = 44, 122


class Bar(NamedTuple):
    """One bar of a plot. ``low`` to ``high`` is drawn as a thin line over its end."""

    label: str
    value: float
    low: float
    high: float
    figure: str


def bars_svg(title: str, groups: Mapping[str, Sequence[Bar]]) -> str:
    """Return groups of bars one below the other, all on one scale, with a label at each bar's end."""
    largest = max((bar.high for bars in groups.values() for bar in bars), default=1.0)
    parts: list[str] = []
    top = _TOP
    for number, (heading, bars) in enumerate(groups.items()):
        if heading:
            parts.append(_text(12, top + 16, heading, is_bold=True))
            top += _BAR_ROW
        for bar in bars:
            parts += _bar(bar, top, largest, _COLOURS[number % len(_COLOURS)])
            top += _BAR_ROW
    return _document(title, top + 12, parts)


def _bar(bar: Bar, top: int, largest: float, colour: str) -> list[str]:
    def x(value: float) -> float:
        return round(_BAR_LEFT + (_BAR_RIGHT - _BAR_LEFT) * value / largest, 1)

    middle, baseline, width = top + _BAR_ROW // 2, top + _BAR_ROW // 2 + 4, round(x(bar.value) - _BAR_LEFT, 1)
    return [
        _text(_BAR_LEFT - 10, baseline, bar.label, anchor="end"),
        f'<rect x="{_BAR_LEFT}" y="{top + 4}" width="{width}" height="{_BAR_ROW - 8}" fill="{colour}"/>',
        f'<path d="M{x(bar.low)} {middle} H{x(bar.high)}" stroke="{_INK}" stroke-width="2"/>',
        _text(x(bar.high) + 8, baseline, bar.figure, colour=_PALE),
    ]


def panels_svg(title: str, labels: Sequence[str], panels: Mapping[str, Sequence[float]]) -> str:
    """Return small charts of vertical bars, four in a row, each on a scale of its own: heading -> value per label."""
    parts: list[str] = []
    for number, (heading, values) in enumerate(panels.items()):
        left, top = number % _SMALL_COLUMNS * _SMALL_WIDTH, 34 + number // _SMALL_COLUMNS * _SMALL_HEIGHT
        parts += [f'<g transform="translate({left} {top})">', _text(12, 22, heading, size=13)]
        slot, highest = (_SMALL_WIDTH - 24) / len(labels), max(values) or 1.0
        for place, (label, value) in enumerate(zip(labels, values, strict=True)):
            height = round((_COLUMN_BOTTOM - _COLUMN_TOP) * value / highest, 1)
            middle, up = round(12 + slot * (place + 0.5), 1), round(_COLUMN_BOTTOM - height, 1)
            box = f'x="{round(middle - slot * 0.32, 1)}" y="{up}" width="{round(slot * 0.64, 1)}" height="{height}"'
            parts.append(f'<rect {box} fill="{_COLOURS[0]}"/>')
            parts.append(_text(middle, round(up - 4, 1), f"{value:g}", anchor="middle", size=10))
            parts.append(_text(middle, _COLUMN_BOTTOM + 14, label, anchor="middle", colour=_PALE, size=10))
        parts += [f'<path d="M12 {_COLUMN_BOTTOM} H{_SMALL_WIDTH - 12}" stroke="{_PALE}" stroke-width="1"/>', "</g>"]
    return _document(title, 34 + _SMALL_HEIGHT * -(-len(panels) // _SMALL_COLUMNS), parts)


class Curves(NamedTuple):
    """The curves of a chart. ``series``: name -> (x, y), both above 0: both axes are logarithmic."""

    title: str
    x_label: str
    series: Mapping[str, Sequence[tuple[float, float]]]


def curves_svg(title: str, panels: Sequence[Curves]) -> str:
    """Return small charts, two in a row."""
    parts: list[str] = []
    for number, panel in enumerate(panels):
        left, top = number % _COLUMNS * _PANEL_WIDTH, _TOP + number // _COLUMNS * _PANEL_HEIGHT
        parts += [f'<g transform="translate({left} {top})">', *_panel(panel), "</g>"]
    return _document(title, _TOP + _PANEL_HEIGHT * -(-len(panels) // _COLUMNS), parts)


class _Axis(NamedTuple):
    """A logarithmic axis from ``low`` to ``high``, between two positions in the picture."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float) -> _Axis:
        low = math.floor(math.log10(min(values)) + 1e-9)
        return cls(low, max(low + 1, math.ceil(math.log10(max(values)) - 1e-9)), start, end)

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + (self.end - self.start) * share, 1)

    def ticks(self) -> list[tuple[float, str]]:
        powers = range(self.low, self.high + 1)
        return [(self.place(10.0**power), f"{10**power:,}" if power >= 0 else f"{10.0**power:g}") for power in powers]


def _panel(panel: Curves) -> list[str]:
    points = [point for series in panel.series.values() for point in series]
    across = _Axis.around([x for x, _ in points], _LEFT, _RIGHT)
    up = _Axis.around([y for _, y in points], _DOWN, _UP)
    parts = [_text(12, 20, panel.title, is_bold=True)]
    for y, label in up.ticks():
        parts.append(f'<path d="M{_LEFT} {y} H{_RIGHT}" stroke="{_GRID}"/>')
        parts.append(_text(_LEFT - 6, y + 4, label, anchor="end", colour=_PALE))
    parts += [_text(x, _DOWN + 16, label, anchor="middle", colour=_PALE) for x, label in across.ticks()]
    parts.append(_text(_RIGHT, _DOWN + 32, panel.x_label, anchor="end", colour=_PALE))
    for number, (name, series) in enumerate(panel.series.items()):
        colour, dash, left = _COLOURS[number % 4], _DASHES[number % 4], _LEFT + number * 120
        line = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
        places = [(across.place(x), up.place(y)) for x, y in series]
        parts.append(f'<path d="M{" L".join(f"{x} {y}" for x, y in places)}" {line}/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
        parts += [f'<path d="M{left} 32 h22" {line}/>', _text(left + 28, 36, name)]
    return parts


def strips_svg(title: str, strips: Mapping[str, Sequence[tuple[int, int]]]) -> str:
    """Return where each write went: time goes to the right, each file has its own height, a dot is a write."""
    parts: list[str] = []
    for number, (name, places) in enumerate(strips.items()):
        top = _TOP + number * (_STRIP_HEIGHT + 30)
        files = max(file for file, _ in places) + 1
        length = max(position for _, position in places) + 1
        frame = f'width="{_WIDTH - 24}" height="{_STRIP_HEIGHT - 22}" fill="none" stroke="{_GRID}"'
        parts += [_text(12, top + 14, name), f'<rect x="12" y="{top + 22}" {frame}/>']
        for turn, (file, position) in enumerate(places):
            x = 16 + (_WIDTH - 32) * turn / max(1, len(places) - 1)
            y = top + 26 + (_STRIP_HEIGHT - 30) * (file + position / length) / files
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.6" fill="{_COLOURS[number % 4]}"/>')
    return _document(title, _TOP + len(strips) * (_STRIP_HEIGHT + 30), parts)


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", colour: str = _INK, size: int = 12, is_bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if is_bold else ""
    style = f'font-size="{size}" text-anchor="{anchor}" fill="{colour}"{weight}'
    return f'<text x="{x}" y="{y}" {style}>{escape(text)}</text>'


def _document(title: str, height: int, parts: Sequence[str]) -> str:
    box = f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" role="img"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
            f"<title>{escape(title)}</title>",
            f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
            _text(12, 22, title, size=15),
            *parts,
            "</svg>",
            "",
        ]
    )
