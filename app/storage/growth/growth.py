"""Measures both stores at every requested size, one after the other at each, in folders that are removed
immediately.
"""

from __future__ import annotations

import os
import platform
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from app.storage.growth.grown_stores import (
    BATCH,
    MESSAGE_BYTES,
    GrownKafka,
    GrownRocketmq,
    GrownStore,
    batches_of,
)
from app.storage.growth.result import GrowthPoint, GrowthResult
from app.storage.laboratory.search import seeks_of
from app.storage.progress import ProgressCallback, ProgressStep

#: Records that are looked up at each point, drawn at random, the same for both stores.
LOOKUPS = 50
_STORES = ("rocketmq", "kafka")
#: Messages between two checks whether to continue.
_PROGRESS_EVERY = 10_000


class Size(NamedTuple):
    """The amount of data to write."""

    topics: int
    messages: int


def check_size(size: Size) -> Size:
    """Check that every topic gets a message, and return ``size``. Raises ``ValueError`` otherwise."""
    if not 1 <= size.topics <= size.messages:
        raise ValueError(f"{size.messages:,} messages for {size.topics:,} topics: each topic needs one at least")
    return size


def grow(folder: Path, sizes: Sequence[Size], progress: ProgressCallback) -> GrowthResult:
    """Measure all points. Raises ``OSError``, ``DiskFault`` where the disk is too small, ``ValueError`` for a size."""
    for size in sizes:
        check_size(size)
    _allow_open_files()
    points: list[GrowthPoint] = []
    total = len(sizes) * len(_STORES)
    for size in sizes:
        for store in _STORES:
            doing = f"{store}: {size.messages:,} messages, {size.topics:,} topics"
            step = ProgressStep(len(points), total, doing)
            progress(step)
            points.append(_point(folder, store, size, partial(progress, step)))
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.release()}"
    return GrowthResult(machine, MESSAGE_BYTES, BATCH, tuple(points))


def _allow_open_files() -> None:
    """Allow as many open files as the system permits: Kafka's log of every partition stays open."""
    import resource  # not in a browser

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _point(parent: Path, name: str, size: Size, still_there: Callable[[], None]) -> GrowthPoint:
    folder = Path(tempfile.mkdtemp(dir=parent, prefix=f"glassmq-grow-{name}-"))
    store: GrownStore = GrownRocketmq(folder) if name == "rocketmq" else GrownKafka(folder, size.topics)
    try:
        return _measured(store, folder, size, still_there)
    finally:
        store.close()
        shutil.rmtree(folder)


def _measured(store: GrownStore, folder: Path, size: Size, still_there: Callable[[], None]) -> GrowthPoint:
    counter = store.counter
    store.load()
    began = time.perf_counter()
    for number, (topic, count) in enumerate(batches_of(*size)):
        store.write(topic, count)
        if number * BATCH % _PROGRESS_EVERY == 0:
            still_there()
    store.written()
    write_s = time.perf_counter() - began
    open_files = counter.open_max
    store.end(is_clean=False)
    recover_killed_s = _timed_load(store)
    index_bytes = store.index_bytes()
    lookups = _look_up(store, size)
    store.end(is_clean=True)
    recover_clean_s = _timed_load(store)
    store.end(is_clean=True)
    files = [path for path in folder.rglob("*") if path.is_file()]
    return GrowthPoint(
        store=store.name,
        topics=size.topics,
        messages=size.messages,
        write_s=write_s,
        files=len(files),
        open_files=open_files,
        written_files=len(counter.log_files),
        index_bytes=index_bytes,
        disk_bytes=sum(path.stat().st_blocks for path in files) * 512,
        lookup_reads=lookups.reads,
        lookup_bytes=lookups.bytes,
        lookup_seeks=lookups.seeks,
        lookup_us=lookups.us,
        recover_clean_s=recover_clean_s,
        recover_killed_s=recover_killed_s,
        pattern=counter.pattern,
    )


def _timed_load(store: GrownStore) -> float:
    began = time.perf_counter()
    store.load()
    return time.perf_counter() - began


class _LookUps(NamedTuple):
    """The averages of the look-ups."""

    reads: float
    bytes: float
    seeks: float
    us: float


def _look_up(store: GrownStore, size: Size) -> _LookUps:
    """Look records up. The seeks of each look-up are counted as if it were the first one and nothing were in memory."""
    draw = random.Random(1)
    counter = store.counter
    counter.keeps_reads = True
    batch = min(BATCH, size.messages // size.topics)
    per_topic = max(batch, size.messages // size.topics // batch * batch)
    reads = read_bytes = seeks = 0
    took_s = 0.0
    for _ in range(LOOKUPS):
        counter.reads.clear()
        topic, offset = draw.randrange(size.topics), draw.randrange(per_topic)
        began = time.perf_counter()
        store.look_up(topic, offset)
        took_s += time.perf_counter() - began
        reads += len(counter.reads)
        read_bytes += sum(read.length for read in counter.reads)
        seeks += sum(seeks_of(counter.reads))
    counter.keeps_reads = False
    counter.reads.clear()
    return _LookUps(reads / LOOKUPS, read_bytes / LOOKUPS, seeks / LOOKUPS, took_s / LOOKUPS * 1e6)
