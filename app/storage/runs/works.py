"""The measurements of ``glassmq storage``, in a size for which a page can wait, with their figures as plots and
tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from app.storage.growth.growth import Size, grow
from app.storage.growth.result import GrowthPoint
from app.storage.measure.measure import Measurement
from app.storage.measure.result import MeasureResult
from app.storage.progress import ProgressCallback
from app.storage.runs.report import Fact, Plot, Point, Report, Table, Work

STORES = ("rocketmq", "kafka")
#: Larger sizes are for the command line: Kafka has three open files for each topic.
TOPICS, TOPIC_MESSAGES = (1, 10, 100, 1_000), 20_000
#: The number of topics for which the strip of writes is drawn: few enough that batches come to each repeatedly.
STRIP_TOPICS = 10
MESSAGES, MESSAGE_TOPICS = (1_000, 10_000, 100_000), 10
FILE_BYTES, ROUNDS = 64 * 1024 * 1024, 3

#: The figures of a point of growth.
FIGURES: Mapping[str, Callable[[GrowthPoint], float]] = {
    "write_us": lambda point: 1e6 * point.write_s / point.messages,
    "open_files": lambda point: point.open_files,
    "written_files": lambda point: point.written_files,
    "index_bytes": lambda point: point.index_bytes,
    "lookup_bytes": lambda point: point.lookup_bytes,
    "lookup_seeks": lambda point: point.lookup_seeks,
    "recover_clean_ms": lambda point: 1e3 * point.recover_clean_s,
    "recover_killed_ms": lambda point: 1e3 * point.recover_killed_s,
}
#: Which figure is drawn over what.
DRAWN = (
    ("write_us", "topics"),
    ("written_files", "topics"),
    ("open_files", "topics"),
    ("recover_clean_ms", "topics"),
    ("write_us", "messages"),
    ("index_bytes", "messages"),
    ("lookup_bytes", "messages"),
    ("lookup_seeks", "messages"),
    ("recover_clean_ms", "messages"),
    ("recover_killed_ms", "messages"),
)


def measure_growth(folder: Path, progress: ProgressCallback) -> Report:
    """Measure growing numbers of topics, then growing numbers of messages, in both stores."""
    sizes = [*(Size(topics, TOPIC_MESSAGES) for topics in TOPICS)]
    sizes += [Size(MESSAGE_TOPICS, messages) for messages in MESSAGES]
    result = grow(folder, sizes, progress)
    by_topics = [point for point in result.points if point.messages == TOPIC_MESSAGES]
    by_messages = [point for point in result.points if point.messages != TOPIC_MESSAGES]
    plots = _strips([point for point in by_topics if point.topics == STRIP_TOPICS])
    for name, over in DRAWN:
        plot = Plot(f"{name}_by_{over}")
        for point in by_topics if over == "topics" else by_messages:
            plot.add(point.store, getattr(point, over), FIGURES[name](point))
        plots.append(plot)
    return Report(result.machine, plots, [_of_topics(by_topics), _of_messages(by_messages)])


def _strips(points: list[GrowthPoint]) -> list[Plot]:
    """Return where each write of records went: to which file, and how far into it."""
    plots = []
    for point in points:
        largest = 1 + max(place.position for place in point.pattern)
        heights: list[Point] = [
            (turn, place.file + place.position / largest) for turn, place in enumerate(point.pattern)
        ]
        plots.append(Plot(f"strip_{point.store}", {point.store: heights}, is_log=False, is_strip=True))
    return plots


def _of_topics(points: list[GrowthPoint]) -> Fact:
    """Check that one log for all suits many topics: its cost of writing a message grows less."""
    factors = {}
    for store in STORES:
        costs = [FIGURES["write_us"](point) for point in points if point.store == store]
        factors[f"{store}_factor"] = costs[-1] / costs[0]
    return Fact("many_topics", factors["rocketmq_factor"] < factors["kafka_factor"], _last(points) | factors)


def _of_messages(points: list[GrowthPoint]) -> Fact:
    """Check that a sparse index suits many messages: it is smaller."""
    values = _last(points)
    return Fact("many_messages", values["kafka_index_bytes"] < values["rocketmq_index_bytes"], values)


def _last(points: list[GrowthPoint]) -> dict[str, float]:
    """Return the figures of both stores at the last point."""
    last = points[-len(STORES) :]
    values = {f"{point.store}_{name}": figure(point) for point in last for name, figure in FIGURES.items()}
    return {**values, "topics": last[0].topics, "messages": last[0].messages}


def measure_disk(folder: Path, progress: ProgressCallback) -> Report:
    """Measure reads, sends and appends on the disk of ``folder``."""
    result = Measurement(folder, FILE_BYTES, ROUNDS, progress).run()
    reads = Plot("reads")
    for read in result.reads:
        reads.add(f"{read.order}_{_cache(read.is_cold)}", read.block_bytes, read.bytes_per_s.median)
    sends = {is_cold: Plot(f"sends_{_cache(is_cold)}") for is_cold in (True, False)}
    for send in result.sends:
        sends[send.is_cold].add(_name(send.way), send.chunk_bytes, send.bytes_per_s.median)
    return Report(result.machine, [reads, *sends.values()], [_coldness(result)], _disk_tables(result))


def _coldness(result: MeasureResult) -> Fact:
    """Check whether cold reads were really cold."""
    return Fact("cold", result.cold_share < 0.01, {"percent": 100 * result.cold_share, "rounds": result.rounds})


def _disk_tables(result: MeasureResult) -> list[Table]:
    sends = Table("sends", ["way", "chunk_bytes", "cache", "mb_per_s", "calls", "copied", "cpu_ms", "faults"], [])
    for send in result.sends:
        cpu_ms = send.user_ms.median + send.system_ms.median
        copies = send.copied_bytes // result.file_bytes
        rate = send.bytes_per_s.median / 1e6
        place: list[str | float] = [_name(send.way), send.chunk_bytes, _cache(send.is_cold)]
        sends.rows.append([*place, rate, send.calls, copies, cpu_ms, send.page_faults])
    appends = Table("appends", ["flush", "messages_per_s", "flushes"], [])
    for one in result.appends:
        appends.rows.append([_name(one.flush), one.messages_per_s.median, one.flushes])
    return [sends, appends]


def _cache(is_cold: bool) -> str:
    return "cold" if is_cold else "warm"


def _name(words: str) -> str:
    """Return words in the form of the names of texts."""
    return words.replace("+", "_").replace(" ", "_")


#: The measurements by kind.
WORKS: Mapping[str, Work] = {"grow": measure_growth, "disk": measure_disk}
