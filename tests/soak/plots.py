"""Lines over time as SVG, with the events of the broker drawn in the background."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 960, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 128, 40, 34
_INK, _PALE, _GRID, _KILL, _FULL = "#27303f", "#5d6675", "#e4e8ee", "#b3261e", "#f3d9a4"
#: Okabe and Ito's colours; the second line is dashed too, so that colour is never alone.
_COLOURS = ("#0072b2", "#d55e00")
_DASHES = ("", ' stroke-dasharray="6 3"')
_FONT = "system-ui, 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
_GAP_S = 15.0
_COLUMNS = 700

#: (seconds, value).
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Marks:
    """What is drawn in the background of every plot."""

    until_s: float
    kills_s: Sequence[float] = ()
    disk_full: tuple[float, float] | None = None


class Plot:
    """One picture: one scale, one or two lines. ``logarithmic`` for what spans decades."""

    def __init__(
        self, title: str, lines: Sequence[tuple[str, Points]], marks: Marks, logarithmic: bool = False
    ) -> None:
        self._title = title
        self._lines = [(name, _thinned(points)) for name, points in lines]
        self._marks = marks
        values = [value for _, points in self._lines for _, value in points]
        self._ticks = _decades(values) if logarithmic else _steps(max(values, default=0.0))
        self._logarithmic = logarithmic

    def svg(self) -> str:
        """The whole picture."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        place = f'x="{_LEFT}" y="22" font-size="15" font-weight="600" fill="{_INK}"'
        return "\n".join(
            [
                f'{head} font-family="{escape(_FONT)}" font-size="12">',
                f"<title>{escape(self._title)}</title>",
                f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
                f"<text {place}>{escape(self._title)}</text>",
                *self._axes(),
                *self._drawn_marks(),
                *self._drawn_lines(),
                "</svg>",
                "",
            ]
        )

    def _axes(self) -> list[str]:
        parts = []
        for tick in self._ticks:
            y = self._y(tick)
            parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="{_GRID}"/>')
            label = f"{tick:,.10g}"
            parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{_PALE}">{label}</text>')
        for minute in _steps(self._marks.until_s / 60, most=10):
            if minute * 60 <= self._marks.until_s:
                x = self._x(minute * 60)
                y = _HEIGHT - _BOTTOM + 18
                parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle" fill="{_PALE}">{minute:g}</text>')
        return parts

    def _drawn_marks(self) -> list[str]:
        parts = []
        height = _HEIGHT - _BOTTOM - _TOP
        if self._marks.disk_full is not None:
            left, right = map(self._x, self._marks.disk_full)
            width = max(2.0, right - left)
            parts.append(f'<rect x="{left:.1f}" y="{_TOP}" width="{width:.1f}" height="{height}" fill="{_FULL}"/>')
        for kill_s in self._marks.kills_s:
            line = f"M{self._x(kill_s):.1f} {_TOP}v{height}"
            parts.append(f'<path d="{line}" stroke="{_KILL}" stroke-dasharray="2 3"/>')
        return parts

    def _drawn_lines(self) -> list[str]:
        parts = []
        ends: list[float] = []
        for index, (name, points) in enumerate(self._lines):
            if not points:
                continue
            commands = []
            last_s = -math.inf
            for at_s, value in points:
                commands.append(
                    f"{'M' if at_s - last_s > self._gap_s() else 'L'}{self._x(at_s):.1f} {self._y(value):.1f}"
                )
                last_s = at_s
            colour = _COLOURS[index]
            parts.append(
                f'<path d="{"".join(commands)}" fill="none" stroke="{colour}" stroke-width="1.6" '
                f'stroke-linejoin="round"{_DASHES[index]}/>'
            )
            y = self._y(points[-1][1]) + 4
            while any(abs(y - other) < 15 for other in ends):
                y -= 15
            ends.append(y)
            x = _WIDTH - _RIGHT + 8
            parts.append(f'<text x="{x}" y="{y:.1f}" fill="{colour}" font-weight="600">{escape(name)}</text>')
        return parts

    def _gap_s(self) -> float:
        return max(_GAP_S, self._marks.until_s / 100)

    def _x(self, at_s: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * at_s / self._marks.until_s

    def _y(self, value: float) -> float:
        low, high = self._ticks[0], self._ticks[-1]
        if self._logarithmic:
            share = math.log(max(value, low) / low) / math.log(high / low)
        else:
            share = (value - low) / (high - low)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * share


def _thinned(points: Points) -> list[tuple[float, float]]:
    """At most some hundred points: of each group its greatest, so that no peak is hidden."""
    size = max(1, len(points) // _COLUMNS)
    return [max(points[start : start + size], key=lambda point: point[1]) for start in range(0, len(points), size)]


def _steps(highest: float, most: int = 5) -> list[float]:
    """Round numbers from 0 to at least ``highest``."""
    rough = max(highest, 1e-9) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    return [step * number for number in range(math.ceil(highest / step - 1e-9) + 1)] if highest > 0 else [0.0, 1.0]


def _decades(values: Sequence[float]) -> list[float]:
    positive = [value for value in values if value > 0] or [1.0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]
