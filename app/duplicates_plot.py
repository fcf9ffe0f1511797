"""Draws the share of duplicates that each strategy catches, one bar each with its confidence interval, in SVG."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.lab.sweep.duplicates import DuplicateFigures

_WIDTH, _ROW, _TOP = 800, 26, 40
_LEFT, _RIGHT = 270, 700
_INK, _PALE, _BAR = "#3b4252", "#6b7280", "#2f6f9f"


def duplicates_svg(figures: Mapping[str, DuplicateFigures], title: str) -> str:
    """Return the picture; strategies without a duplicate are left out.

    A thin line over a bar's end is its 95 % interval.
    """
    rows = [(name, each) for name, each in figures.items() if each.caught.ratio is not None]
    height = _TOP + _ROW * len(rows) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-size="15" fill="{_INK}">{escape(title)}</text>',
    ]
    for number, (name, each) in enumerate(rows):
        parts += _row(name, each, _TOP + _ROW * number)
    return "\n".join([*parts, "</svg>", ""])


def _row(name: str, figures: DuplicateFigures, top: int) -> list[str]:
    share = figures.caught.ratio or 0.0
    low, high = (_x(bound) for bound in figures.caught.interval)
    middle, baseline = top + _ROW // 2, top + _ROW // 2 + 4
    return [
        f'<text x="{_LEFT - 10}" y="{baseline}" font-size="13" text-anchor="end" fill="{_INK}">{escape(name)}</text>',
        f'<rect x="{_LEFT}" y="{top + 4}" width="{round(_x(share) - _LEFT, 1)}" height="{_ROW - 8}" fill="{_BAR}"/>',
        f'<path d="M{low} {middle} H{high}" stroke="{_INK}" stroke-width="2"/>',
        f'<text x="{max(high, _x(share)) + 8}" y="{baseline}" font-size="13" fill="{_PALE}">{share:.2%}</text>',
    ]


def _x(share: float) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * share, 1)
