"""``spark.readStream.format("rocketmq")``: micro-batches with exact offsets, resumed from Spark's checkpoint.

Progress is Spark's: what is committed to a broker is for its tools only. The planner in the driver's Python process
keeps its connections between calls, since a stream requests the newest offsets several times per second.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import Briefly, RocketMQError, wrong_option
from engine.pipeline.source.cluster.queue_offsets import (
    LATEST,
    QueueKey,
    broker_of,
    from_json_object,
    list_queues,
    to_json_object,
)
from engine.pipeline.source.decoding.schema import arrow_schema_of
from engine.pipeline.source.reader.batch_reader import matching_queues, wanted_queues
from engine.pipeline.source.reader.byte_limit import share_bytes
from engine.pipeline.source.reader.offset_bounds import OffsetBounds
from engine.pipeline.source.reader.offset_commits import OffsetCommits
from engine.pipeline.source.reader.offset_range import OffsetRange, plan_partitions, share_limit
from engine.pipeline.source.reader.options import Bound, ReadOptions
from engine.pipeline.source.reader.range_puller import report_loss
from engine.pipeline.source.reader.range_reader import read_partition
from engine.pipeline.source.reader.retrying import Retrying

_log = logging.getLogger("glassmq.pipeline")

JsonOffsets = dict[str, dict[str, int]]
_AskOffsets = Callable[[Sequence[QueueKey]], dict[QueueKey, int]]


def make_stream_reader(schema: StructType, options: Mapping[str, str]) -> DataSourceStreamReader:
    """Return the reader of a stream. Raises :class:`RocketMQError` for wrong options."""
    read_options = ReadOptions.parse(options)
    if read_options.ending is not None:
        raise wrong_option(read_options.ending.option, "a stream has no end; use spark.read, or Trigger.AvailableNow")
    if read_options.key is not None:
        raise wrong_option("key", "a stream reads no index; filter it by array_contains(keys, ...)")
    read_options.check_for_stream()
    read_options.check_schema(schema.names)
    return RocketMQStreamReader(read_options, arrow_schema_of(schema))


class RefusedStreamReader(DataSourceStreamReader):
    """A reader that reports wrong options at Spark's first request.

    Spark's planner has an error of its own below one that is raised while the reader is created (an
    ``UnboundLocalError``), which would hide the line for the user.
    """

    def __init__(self, error: RocketMQError) -> None:
        self._error = error

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise self._error

    initialOffset = latestOffset = partitions = read = _refuse  # noqa: N815 - Spark's names


class RocketMQStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream reader, planned in the driver's Python process; copies of it read in the tasks."""

    def __init__(self, options: ReadOptions, schema: Any) -> None:
        self._options = options
        self._schema = schema
        self._cluster: Cluster | None = None
        #: Where the query began, if it had no checkpoint.
        self._initial: JsonOffsets | None = None
        self._is_available_now = False
        #: Where the queues ended when ``Trigger.AvailableNow`` began; None for other triggers.
        self._targets: dict[QueueKey, int] | None = None
        #: Where the queues ended when the planner last checked.
        self._latest: dict[QueueKey, int] | None = None
        #: The lag of each queue after the micro-batch that was planned last.
        self._lags: list[int] = []
        #: When a micro-batch last began.
        self._began_s = -math.inf
        #: The oldest offsets of queues for which the planner requested them at its last check.
        self._minima: dict[QueueKey, int] = {}
        #: Queues of brokers that did not answer then, and the reason; only if loss is allowed.
        self._away: dict[QueueKey, str] = {}
        #: The missing queues in the last log message.
        self._reported_missing: list[QueueKey] = []
        self._retrying = Retrying(options.retry_timeout_ms)
        self._commits = OffsetCommits(options.commit_group) if options.commit_group else None

    def __reduce__(self) -> tuple[type[RocketMQStreamReader], tuple[ReadOptions, Any]]:
        """Send a new reader to the tasks, without connections and without the planner's state."""
        return RocketMQStreamReader, (self._options, self._schema)

    @property
    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._options.cluster)
        return self._cluster

    # --- offsets -----------------------------------------------------------------------------------------------------

    def initialOffset(self) -> JsonOffsets:  # noqa: N802 - Spark's name
        """Return where a query without a checkpoint begins.

        Spark calls it twice, for the end of the first micro-batch and for its tasks, and must get the same answer.
        """
        if self._initial is None:
            self._initial = to_json_object(self._resolve_start())
        return self._initial

    def _resolve_start(self) -> dict[QueueKey, int]:
        options, cluster = self._options, self._connected
        with Briefly():
            bounds = OffsetBounds(cluster, wanted_queues(cluster, options), options)
            offsets = bounds.resolve(options.starting or Bound("startingOffsets", LATEST))
        if self._targets is not None:
            # Spark requests the targets first: what has come since then is neither read nor lost.
            self._targets |= {queue: max(offset, self._targets.get(queue, 0)) for queue, offset in offsets.items()}
        return offsets

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the first of ``maxOffsetsPerTrigger``, ``maxBytesPerTrigger`` and ``minOffsetsPerTrigger`` that is
        given: Spark has no limit for Python sources that combines them, so ``latestOffset`` does.
        """
        most, least = self._options.max_offsets_per_trigger, self._options.min_offsets_per_trigger
        if most is not None:
            return ReadMaxRows(most)
        if self._options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(self._options.max_bytes_per_trigger)
        return ReadAllAvailable() if least is None else ReadMinRows(least)

    def latestOffset(self, start: JsonOffsets, limit: ReadLimit) -> JsonOffsets:  # noqa: N802 - Spark's name
        """Return where the next micro-batch ends.

        A queue that is new or was created again is only recorded in it, at its first message, and is read by the next
        one. So the checkpoint always holds where the reading of a queue began.
        """
        starts = from_json_object(start)
        ends, begins = self._retrying.call(lambda: self._find_ends(starts))
        # All before it is processed; Spark itself says so only when there is a next micro-batch.
        self.commit(start)
        self._latest = {queue: ends[queue] for queue in begins}
        goes_on = {queue for queue, begin in begins.items() if queue in starts and starts[queue] <= begin}
        lags = {queue: ends[queue] - begin if queue in goes_on else 0 for queue, begin in begins.items()}
        self._lags = list(lags.values())
        if self._waits(sum(self._lags), limit):
            return start
        if isinstance(limit, ReadMaxRows):
            lags = share_limit(lags, limit.max_rows, sum(starts.values()))
        max_bytes = self._options.max_bytes_per_trigger
        if max_bytes is not None and not isinstance(limit, ReadAllAvailable):
            of_rows, turn = lags, sum(starts.values())
            lags = self._retrying.call(
                lambda: share_bytes(self._connected.entry_sizes, begins, of_rows, max_bytes, turn)
            )
        self._lags = [ends[queue] - begin - lags[queue] for queue, begin in begins.items()]
        return to_json_object(starts | {queue: begin + lags[queue] for queue, begin in begins.items()})

    def _waits(self, count: int, limit: ReadLimit) -> bool:
        """Return whether ``count`` messages are too few for a micro-batch (``minOffsetsPerTrigger``)."""
        options, now_s = self._options, self._retrying.clock()
        is_few = 0 < count < (options.min_offsets_per_trigger or 0) and not self._is_available_now
        ends_s = self._began_s + options.max_trigger_delay_ms / 1_000
        if is_few and now_s < ends_s and not isinstance(limit, ReadAllAvailable):
            return True
        if count:
            self._began_s = now_s
        return False

    def _find_ends(self, starts: Mapping[QueueKey, int]) -> tuple[dict[QueueKey, int], dict[QueueKey, int]]:
        """Return where the queues end, and where to continue in them."""
        ends = self._look_at_ends() if self._targets is None else dict(self._targets)
        if self._is_available_now:
            self._targets = dict(ends)
        begins = self._begins(starts, ends)
        self._report_missing(starts, begins)
        return ends, begins

    def reportLatestOffset(self) -> dict[str, dict[str, int] | int] | None:  # noqa: N802 - Spark's name
        """Return the latest offsets for the query's progress, with the lag after its micro-batch (named as by Kafka's
        source).
        """
        if not self._latest:
            return None
        average = round(sum(self._lags) / len(self._lags))
        return {
            **to_json_object(self._latest),
            "avgOffsetsBehindLatest": average,
            "maxOffsetsBehindLatest": max(self._lags),
        }

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the ends of the queues to their present ends, or to those at the first answer of a node that restarts."""
        self._is_available_now = True
        with Briefly(), suppress(RocketMQError):
            self._targets = self._look_at_ends()

    def _look_at_ends(self) -> dict[QueueKey, int]:
        self._away = {}
        return self._ask_brokers(self._connected.max_offsets, self._queues_now())

    def _queues_now(self) -> list[QueueKey]:
        """Return the queues that exist; missing ones that were read are reported later."""
        options = self._options
        if options.pattern is not None:
            return matching_queues(self._connected, options, options.pattern)
        if options.fail_on_data_loss:
            found = self._connected.queues(options.topics, options.topic_option)
        else:
            found = self._connected.queues_there_are(options.topics)
        return list(filter(options.takes, found))

    def _ask_brokers(self, ask: _AskOffsets, queues: Sequence[QueueKey]) -> dict[QueueKey, int]:
        """Return offsets of ``queues``; if loss is allowed, without those of brokers that do not answer."""
        if self._options.fail_on_data_loss:
            return ask(queues)
        answers: dict[QueueKey, int] = {}
        for _, of_broker in groupby(sorted(queues, key=broker_of), key=broker_of):
            asked = list(of_broker)
            try:
                answers |= ask(asked)
            except RocketMQError as error:
                if error.condition != "ROCKETMQ_BROKER_AWAY":
                    raise
                self._away |= dict.fromkeys(asked, error.text)
        return answers

    def _begins(self, starts: Mapping[QueueKey, int], ends: Mapping[QueueKey, int]) -> dict[QueueKey, int]:
        """Return where to continue in the queues that exist: where the last micro-batch ended, unless they hold less.

        Minima are requested only for new queues and, if loss is allowed, for those that have moved.
        """
        is_strict = self._options.fail_on_data_loss
        asked = [queue for queue in ends if queue not in starts or (not is_strict and ends[queue] != starts[queue])]
        self._minima = self._ask_brokers(self._connected.min_offsets, asked)
        begins: dict[QueueKey, int] = {}
        for queue, end in ends.items():
            if queue in self._away:
                continue
            # What was past the end at that request may be deleted by now.
            first = min(self._minima.get(queue, 0), end)
            start = starts.get(queue, first)
            if end < start:
                report_loss(is_strict, queue, f"offset {start} is wanted next, the queue has none from {end} on")
            elif start < first:
                report_loss(is_strict, queue, f"offsets {start} to {first - 1} are wanted next and are deleted")
            begins[queue] = start if first <= start <= end else first
        return begins

    def _report_missing(self, starts: Mapping[QueueKey, int], there: Mapping[QueueKey, int]) -> None:
        """Report queues that were read and no longer exist: they must not vanish silently."""
        missing = sorted((starts.keys() | self._away.keys()) - there.keys())
        unlisted = [queue for queue in missing if queue not in self._away]
        excluded = [queue for queue in unlisted if not self._options.takes(queue)]
        gone = [queue for queue in unlisted if queue not in excluded]
        excluded_text = f"it leaves out {list_queues(excluded)}, which the checkpoint has"
        gone_text = f"the name server no longer lists {list_queues(gone)} among the readable queues"
        if excluded and self._options.fail_on_data_loss:
            allowed = "allowed: all that was read, another checkpoint, or failOnDataLoss=false to continue without"
            raise wrong_option(self._options.topic_option, f"{excluded_text}; {allowed}")
        if gone and self._options.fail_on_data_loss:
            raise _gone(gone_text, gone, there)
        # A stream checks several times per second.
        if missing == self._reported_missing:
            return
        self._reported_missing = missing
        if excluded:
            _log.warning("option %r: %s; the stream continues without", self._options.topic_option, excluded_text)
        if gone:
            _log.warning("%s; the stream continues without", gone_text)
        silent = sorted((queue for queue in missing if queue in self._away), key=broker_of)
        for text, queues in groupby(silent, key=self._away.__getitem__):
            _log.warning("%s; until it does the stream continues without %s", text, list_queues(queues))

    # --- reading -----------------------------------------------------------------------------------------------------

    def partitions(self, start: JsonOffsets, end: JsonOffsets) -> Sequence[InputPartition]:
        """Return the tasks of one micro-batch."""
        starts, ends = from_json_object(start), from_json_object(end)
        # Offsets known to be deleted are not requested again. A queue that is not in `start` is only recorded in `end`.
        firsts = {queue: max(first, self._minima.get(queue, 0)) for queue, first in starts.items()}
        ranges = [(queue, first, ends[queue]) for queue, first in firsts.items() if first < ends.get(queue, 0)]
        planned = self._retrying.call(lambda: self._plan(ranges))
        return plan_partitions(planned, self._options.min_partitions, self._options.max_records_per_partition)

    def _plan(self, ranges: Sequence[tuple[QueueKey, int, int]]) -> list[OffsetRange]:
        cluster = self._connected
        there: list[QueueKey] = []
        if any(not cluster.knows_master(queue.broker_name) for queue, _, _ in ranges):
            # After a restart Spark repeats the last micro-batch before any other request.
            there = cluster.queues_there_are(sorted({queue.topic for queue, _, _ in ranges}))
        gone = [item for item in ranges if not cluster.knows_master(item[0].broker_name)]
        if gone and self._options.fail_on_data_loss:
            queues = [queue for queue, _, _ in gone]
            raise _gone(f"the name server reports no master for {list_queues(queues)} any more", queues, there)
        for queue, first, stop in gone:
            # Spark has recorded the end of this micro-batch: its messages will not be requested again.
            report_loss(False, queue, f"no master is known for it, so offsets {first} to {stop - 1} are never read")
        return [
            OffsetRange(queue, cluster.master(queue.broker_name), first, stop)
            for queue, first, stop in ranges
            if cluster.knows_master(queue.broker_name)
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the record batches of one task."""
        return read_partition(self._options, partition, self._schema, self._options.tags)

    def commit(self, end: JsonOffsets) -> None:
        """Store the end of a finished micro-batch as offsets of the group ``commitGroup``, if there is one."""
        if self._commits is not None:
            self._commits.commit(self._connected, from_json_object(end))

    def stop(self) -> None:
        """Close the connections when the query has ended."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None
        self._initial = None


def _gone(text: str, queues: Iterable[QueueKey], there: Iterable[QueueKey]) -> RocketMQError:
    """Return the error for queues that were read: their topic is not ``there`` any more, or else their broker."""
    deleted = sorted({queue.topic for queue in queues} - {queue.topic for queue in there})
    if deleted:
        text = f"{text}: it has no readable queue of topic {', '.join(deleted)}"
    return RocketMQError(
        "ROCKETMQ_UNKNOWN_TOPIC" if deleted else "ROCKETMQ_BROKER_AWAY",
        f"{text}; set the option failOnDataLoss to false to continue without",
    )
