"""Growth as a table, as comma-separated values, and as pictures."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable

from app.storage.growth.result import GrowthPoint, GrowthResult
from app.storage.plots import Curves, curves_svg, strips_svg

_COLUMNS: dict[str, Callable[[GrowthPoint], str]] = {
    "store": lambda point: point.store,
    "topics": lambda point: f"{point.topics:,}",
    "messages": lambda point: f"{point.messages:,}",
    "written/s": lambda point: f"{point.messages / point.write_s:,.0f}",
    "files written to": lambda point: f"{point.written_files:,}",
    "open at once": lambda point: f"{point.open_files:,}",
    "index, bytes": lambda point: f"{point.index_bytes:,}",
    "on disk, MB": lambda point: f"{point.disk_bytes / 1e6:,.1f}",
    "look-up: seeks": lambda point: f"{point.lookup_seeks:.1f}",
    "reads": lambda point: f"{point.lookup_reads:.1f}",
    "bytes": lambda point: f"{point.lookup_bytes:,.0f}",
    "opens after a clean end, s": lambda point: f"{point.recover_clean_s:.2f}",
    "after a kill, s": lambda point: f"{point.recover_killed_s:.2f}",
}
#: Batches that each topic must get: with fewer, the picture of the writes would not show that they come back to it.
_ROUNDS = 5
_FIGURES: dict[str, Callable[[GrowthPoint], float]] = {
    "messages written per second": lambda point: point.messages / point.write_s,
    "index, bytes (1: none)": lambda point: max(1, point.index_bytes),
    "one look-up, bytes read": lambda point: point.lookup_bytes,
    "open files": lambda point: point.open_files,
    "opening after a clean end, s": lambda point: point.recover_clean_s,
    "opening after a kill, s": lambda point: point.recover_killed_s,
}


def table(result: GrowthResult) -> str:
    """Return the table in Markdown."""
    lines = [
        f"{result.machine}; bodies of {result.message_bytes} bytes, {result.batch} to a batch where there are as many.",
        "",
        f"| {' | '.join(_COLUMNS)} |",
        "|" + "---|" * len(_COLUMNS),
    ]
    lines += [f"| {' | '.join(report(point) for report in _COLUMNS.values())} |" for point in result.points]
    return "\n".join([*lines, ""])


def comma_separated(result: GrowthResult) -> str:
    """Return all figures but the writes, a line for each point."""
    text = io.StringIO()
    names = [field.name for field in dataclasses.fields(GrowthPoint) if field.name != "pattern"]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([getattr(point, name) for name in names] for point in result.points)
    return text.getvalue()


def picture(result: GrowthResult) -> str:
    """Return curves of the figures: over topics where only these change, over messages where those do."""
    panels = []
    for over, other in (("topics", "messages"), ("messages", "topics")):
        for title, figure in _FIGURES.items():
            series = _series(result, over, other, figure)
            if series:
                panels.append(Curves(title, over, series))
    return curves_svg("RocketMQ's storage and Kafka's, growing", panels)


def _series(
    result: GrowthResult, over: str, other: str, figure: Callable[[GrowthPoint], float]
) -> dict[str, list[tuple[float, float]]]:
    """Return store -> points with the same ``other``, of which most have; nothing where there are fewer than two."""
    counts: dict[int, dict[int, None]] = {}
    for point in result.points:
        counts.setdefault(getattr(point, other), {})[getattr(point, over)] = None
    fixed = max(counts, key=lambda value: len(counts[value]))
    if len(counts[fixed]) < 2:
        return {}
    series: dict[str, list[tuple[float, float]]] = {}
    for point in result.points:
        if getattr(point, other) == fixed:
            series.setdefault(point.store, []).append((getattr(point, over), figure(point)))
    return {store: sorted(points) for store, points in series.items()}


def write_pattern(result: GrowthResult) -> str:
    """Return where each write went, at the point with the most topics of those in which each got several batches."""
    often = [point for point in result.points if point.messages >= _ROUNDS * result.batch * point.topics]
    topics, messages = max((point.topics, point.messages) for point in often or result.points)
    strips = {
        f"{point.store}: {point.messages:,} messages, {point.topics:,} topics, {point.written_files:,} files": (
            point.pattern
        )
        for point in result.points
        if (point.topics, point.messages) == (topics, messages)
    }
    return strips_svg("Where each write goes: time to the right, files from top to bottom", strips)
