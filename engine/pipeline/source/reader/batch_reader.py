"""``spark.read.format("rocketmq")``: the messages that are stored when the query is planned."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import cache
from typing import Any

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from engine.fields.field import EXACT_MAX
from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import Briefly, RocketMQError, wrong_option
from engine.pipeline.source.cluster.queue_offsets import EARLIEST, LATEST, QueueKey, list_queues
from engine.pipeline.source.decoding.schema import arrow_schema_of
from engine.pipeline.source.reader.offset_bounds import OffsetBounds
from engine.pipeline.source.reader.offset_range import OffsetRange, plan_partitions
from engine.pipeline.source.reader.options import STREAM_ONLY, Bound, ReadOptions
from engine.pipeline.source.reader.pushed_filters import NUMBER_MAX, PushedFilters
from engine.pipeline.source.reader.range_reader import read_partition

_log = logging.getLogger("glassmq.pipeline")


def make_reader(schema: StructType, options: Mapping[str, str], *, takes_filters: bool = False) -> DataSourceReader:
    """Return the reader of a batch. Raises :class:`RocketMQError` for wrong options.

    :param takes_filters: whether the session has filter pushdown; Spark refuses such a reader otherwise.
    """
    read_options = ReadOptions.parse(options)
    if read_options.commit_group is not None:
        raise wrong_option(
            "commitGroup",
            "Spark tells no batch source when its batch is finished; allowed: a stream, which may end by itself "
            "(Trigger.AvailableNow)",
        )
    read_options.check_schema(schema.names)
    if ignored := ", ".join(name for name in STREAM_ONLY if name in read_options.given):
        _log.warning("options of streams are ignored in a batch: %s", ignored)
    starting = read_options.starting
    if starting is not None and LATEST in (starting.everywhere, *starting.offsets.values()):
        raise wrong_option(
            starting.option,
            "a batch cannot begin after the latest message, where nothing is left to read; "
            "allowed: earliest, or JSON with offsets or -2",
        )
    if takes_filters:
        return FilteringReader(read_options, arrow_schema_of(schema))
    _report_missing_pushdown()
    return RocketMQReader(read_options, arrow_schema_of(schema))


@cache
def _report_missing_pushdown() -> None:
    """Log, once per process, why a batch reads more than its filters leave."""
    _log.warning("filters are not passed to the broker in this session; call register(spark) to pass them")


class RocketMQReader(DataSourceReader):
    """A batch reader, planned in the driver's Python process; a copy of it reads in each task."""

    def __init__(self, options: ReadOptions, schema: Any) -> None:
        self._options = options
        self._schema = schema
        self._pushed = PushedFilters()

    def partitions(self) -> list[InputPartition]:
        """Return the tasks. The end is fixed here, so all tasks read the same state of the queues."""
        if self._wanted_tags() is None:
            return []
        with Briefly(), closing(Cluster(self._options.cluster)) as cluster:
            ranges = self._ranges(cluster)
        if self._options.key is not None:
            # Parts of a queue would search the index for the same messages.
            return plan_partitions(ranges, 1, EXACT_MAX)
        return plan_partitions(ranges, self._options.min_partitions, self._options.max_records_per_partition)

    def _ranges(self, cluster: Cluster) -> list[OffsetRange]:
        options = self._options
        queues = wanted_queues(cluster, options)
        bounds = OffsetBounds(cluster, queues, options)
        starts, ends = bounds.between(
            options.starting or Bound("startingOffsets", EARLIEST), options.ending or Bound("endingOffsets", LATEST)
        )
        queues = [queue for queue in queues if self._pushed.wants(queue)]
        first_offset, last_offset = self._pushed.ranges["queue_offset"]
        for queue in queues:
            starts[queue] = max(starts[queue], first_offset)
            ends[queue] = min(ends[queue], last_offset + 1)
        left = [queue for queue in queues if starts[queue] < ends[queue]]
        first_ms, last_ms = self._pushed.ranges["store_timestamp"]
        if first_ms > 0:
            first = bounds.at_time(dict.fromkeys(left, first_ms))
            starts |= {queue: max(starts[queue], first[queue]) for queue in left}
        if last_ms < NUMBER_MAX:
            # There is no time before 0.
            behind = bounds.at_time(dict.fromkeys(left, max(0, last_ms + 1)))
            ends |= {queue: min(ends[queue], behind[queue]) for queue in left}
        return [
            OffsetRange(queue, cluster.master(queue.broker_name), starts[queue], ends[queue])
            for queue in left
            if starts[queue] < ends[queue]
        ]

    def _wanted_tags(self) -> tuple[str, ...] | None:
        """Return tags for the broker's filter; empty: all messages; None: no message can be wanted."""
        chosen = self._options.tags
        pushed = self._pushed.wanted.get("tags")
        if pushed is None:
            return chosen
        left = sorted(pushed.intersection(chosen) if chosen else pushed)
        return tuple(left) if left else None

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Return the record batches of one task."""
        return read_partition(self._options, partition, self._schema, self._wanted_tags() or ())


class FilteringReader(RocketMQReader):
    """A batch reader that lets the broker leave out what filters do not let through."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Note the ranges that the filters leave, and let Spark check all filters nevertheless."""
        for item in filters:
            self._pushed.add(item)
        return filters


def wanted_queues(cluster: Cluster, options: ReadOptions) -> list[QueueKey]:
    """Return the queues of the topics that the options name or describe. Raises ``ROCKETMQ_UNKNOWN_TOPIC``."""
    if options.pattern is None:
        found = cluster.queues(options.topics, options.topic_option)
        missing = options.assigned.difference(found)
        if missing:
            raise wrong_option("assign", f"there is no queue {list_queues(missing)}; allowed: {list_queues(found)}")
        return list(filter(options.takes, found))
    queues = matching_queues(cluster, options, options.pattern)
    if not queues:
        raise RocketMQError(
            "ROCKETMQ_UNKNOWN_TOPIC",
            f"option {options.topic_option!r}: no topic matches {options.pattern!r} and has a readable queue",
        )
    return queues


def matching_queues(cluster: Cluster, options: ReadOptions, pattern: str) -> list[QueueKey]:
    """Return the queues of the topics that match; possibly empty.

    A topic may be deleted between the two requests, and a write-only topic must not block the others.
    """
    return cluster.queues_there_are(cluster.topics_like(pattern, with_system_topics=options.include_system_topics))
