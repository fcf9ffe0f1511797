"""The work of an executor's task: it pulls its ranges, decodes them, and returns Arrow batches of bounded size."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import InputPartition

from engine.pipeline.source.cluster.errors import Briefly
from engine.pipeline.source.decoding.stored_batch import StoredBatch, bounded_batches, message_starts
from engine.pipeline.source.reader.key_search import find_key
from engine.pipeline.source.reader.offset_range import OffsetRange
from engine.pipeline.source.reader.options import ReadOptions
from engine.pipeline.source.reader.range_puller import PulledRange, RangePuller, report_loss
from engine.protocol.message.message_properties import PROPERTY_TAGS
from engine.protocol.names import SCHEDULE_TOPIC

#: Approximate size of a batch's stored messages; with the answers in flight this is a task's whole memory.
_BATCH_BYTES = 4 * 1024 * 1024
#: Limit of a batch's size after decompression.
_DECOMPRESSED_MAX_BYTES = 64 * 1024 * 1024


#: Excludes everything that is loaded by now from garbage collection; once per process, at the start of a task.
#: PySpark's workers collect all garbage after every task. NumPy, PyArrow and this package are some hundred thousand
#: objects that will never be garbage; scanning them takes longer than a small task.
_freeze_loaded_modules = cache(gc.freeze)


def read_partition(
    options: ReadOptions, partition: InputPartition, schema: Any, tags: tuple[str, ...]
) -> Iterator[Any]:
    """Yield the record batches of one task. For an empty plan Spark makes one task without ranges."""
    _freeze_loaded_modules()
    with Briefly():
        yield from read_ranges(options, partition.value or (), schema, tags)


def read_ranges(
    options: ReadOptions, ranges: Sequence[OffsetRange], schema: Any, tags: tuple[str, ...]
) -> Iterator[Any]:
    """Yield the messages of ``ranges`` as record batches of an Arrow schema, those of each queue in the order of
    offsets.

    :param tags: only messages with one of these tags; empty: all.
    """
    # A broker cannot filter a topic of delayed messages by tags: it stores their time instead.
    by_broker = groupby(ranges, key=lambda item: (item.address, item.queue.topic != SCHEDULE_TOPIC))
    for (_, knows_tags), of_broker in by_broker:
        pulled: list[PulledRange] = []
        size = 0
        items = list(of_broker)
        of_key = None if options.key is None else find_key(options, items, options.key)
        filtered = tags if knows_tags else ()
        found: Iterable[PulledRange] = RangePuller(options, items, filtered).pull() if of_key is None else of_key
        has_all = of_key is None and not filtered
        for answer in found:
            pulled.append(answer)
            size += len(answer.body)
            if size >= _BATCH_BYTES:
                yield from _batches(options, pulled, schema, tags, has_all)
                pulled, size = [], 0
        if pulled:
            yield from _batches(options, pulled, schema, tags, has_all)


def _batches(
    options: ReadOptions, pulled: Sequence[PulledRange], schema: Any, tags: tuple[str, ...], has_all: bool
) -> Iterator[Any]:
    """Yield the wanted messages of some answers.

    :param has_all: whether the answers were given without a filter, so that what they lack is lost.
    """
    data = pulled[0].body if len(pulled) == 1 else b"".join([answer.body for answer in pulled])
    starts = message_starts(data)
    is_whole = not tags and options.key is None
    if has_all and len(starts) != sum(answer.end - answer.begin for answer in pulled):
        _report_holes(options, pulled)
    # If bodies are not requested, none is decompressed.
    has_bodies = not {"body", "value"}.isdisjoint(schema.names)
    for batch in bounded_batches(data, starts, _DECOMPRESSED_MAX_BYTES) if has_bodies else [StoredBatch(data, starts)]:
        if is_whole:
            yield batch.record_batch(schema, pulled[0].queue.broker_name)
        else:
            yield from _filtered(batch, pulled, schema, tags, options.key)


def _filtered(
    batch: StoredBatch, pulled: Sequence[PulledRange], schema: Any, tags: tuple[str, ...], key: str | None
) -> Iterator[Any]:
    """Yield batches without messages that only share the hash of a tag or of the key, and without those that a pull
    returned beyond its range.
    """
    is_wanted = _within(batch, pulled)
    if tags:
        has_tag = pc.is_in(batch.properties.value_of(PROPERTY_TAGS), pa.array(tags, pa.string()))
        is_wanted &= has_tag.to_numpy(zero_copy_only=False)
    if key is not None:
        is_wanted &= batch.properties.has_key(key)
    if is_wanted.any():
        whole = batch.record_batch(schema, pulled[0].queue.broker_name)
        yield whole if is_wanted.all() else whole.filter(pa.array(is_wanted))


def _within(batch: StoredBatch, pulled: Sequence[PulledRange]) -> Any:
    """Return whether each message is within the requested ranges. Several topics may have queues with the same
    number.
    """
    topics, queue_ids, offsets = batch.topics(), batch.number("queue_id"), batch.number("queue_offset")
    is_within = np.zeros(len(batch), bool)
    for queue, of_queue in groupby(pulled, key=lambda answer: answer.queue):
        answers = list(of_queue)
        is_of_queue = pc.equal(topics, queue.topic).to_numpy(zero_copy_only=False) & (queue_ids == queue.queue_id)
        is_within |= is_of_queue & (offsets >= answers[0].begin) & (offsets < answers[-1].end)
    return is_within


def _report_holes(options: ReadOptions, pulled: Sequence[PulledRange]) -> None:
    """Report gaps: a broker skips what it deletes while it reads, and counts on."""
    for answer in pulled:
        there, wanted = len(message_starts(answer.body)), answer.end - answer.begin
        if there != wanted:
            report_loss(
                options.fail_on_data_loss,
                answer.queue,
                f"of offsets {answer.begin} to {answer.end - 1} the broker gave {there} messages instead of {wanted}",
            )
