"""The first step of the audit, on the executors: from messages to summaries (``DataFrame.mapInArrow``)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.pipeline.jobs.arrow_columns import arrow_schema_of, int64, milliseconds, property_values
from engine.pipeline.jobs.delivery_audit.packed_numbers import Numbers
from engine.pipeline.jobs.delivery_audit.queue_segment import UNNUMBERED, QueueSegment
from engine.pipeline.jobs.latency_histogram import LatencyHistogram
from engine.protocol.message.numbering_ledger import LEDGER_BYTES_MAX, PRODUCER_ID_PROPERTY, SEQUENCE_NUMBER_PROPERTY

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: The columns of messages that are needed.
COLUMNS = ("topic", "broker_name", "queue_id", "queue_offset", "properties", "born_timestamp", "store_timestamp")
#: A summary: its kind ("segment" or "times"; "disorder": the task gave up) and its JSON.
SUMMARY_SCHEMA = "kind string, summary string"
_SUMMARY_ARROW = arrow_schema_of(SUMMARY_SCHEMA)
#: Most segments of one queue that a task keeps separate because messages are out of order; then it gives up.
STRETCHES_MAX = 200
#: Most time spans of a topic's latency; beyond this, pairs of spans are merged.
TIME_SPANS_MAX = 128


def summarise(messages: DataFrame, late_ms: int, judge_until_ms: int) -> DataFrame:
    """Return summaries of ``messages``: a few rows of :data:`SUMMARY_SCHEMA` per task, however many messages there are.

    :param messages: with :data:`COLUMNS`; within a partition each queue's messages by offset.
    :param late_ms: a message stored later than this after its birth is late.
    :param judge_until_ms: numbers below the highest one stored until then are judged.
    """
    return messages.select(*COLUMNS).mapInArrow(summariser(late_ms, judge_until_ms), SUMMARY_SCHEMA)


def summaries_of(messages: DataFrame, late_ms: int, judge_until_ms: int) -> list[tuple[str, str]]:
    """Return the summaries of messages in any order; they are sorted first if necessary, which is expensive."""
    reported = [(row.kind, row.summary) for row in summarise(messages, late_ms, judge_until_ms).collect()]
    if not is_in_order(reported):
        place = ("topic", "broker_name", "queue_id")
        messages = messages.select(*COLUMNS).repartition(*place).sortWithinPartitions(*place, "queue_offset")
        reported = [(row.kind, row.summary) for row in summarise(messages, late_ms, judge_until_ms).collect()]
    return reported


def ledger_body() -> Column:
    """Return the column ``body`` of messages of the ledger topic; null if it is longer than a ledger may be."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

    return F.when(F.length("body") <= LEDGER_BYTES_MAX, F.col("body")).alias("body")


def is_in_order(summaries: list[tuple[str, str]]) -> bool:
    """Return whether the segments of each queue that different tasks have seen follow one another."""
    stretches: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for kind, summary in summaries:
        if kind == "disorder":
            return False
        if kind == "segment":
            fields = json.loads(summary)
            key = (fields["topic"], fields["queue"], fields["producer"])
            stretches.setdefault(key, []).append((fields["first_offset"], fields["last_offset"]))
    return all(
        before[1] < after[0]
        for of_queue in stretches.values()
        for before, after in itertools.pairwise(sorted(of_queue))
    )


def summariser(late_ms: int, judge_until_ms: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function that :func:`summarise` runs on each partition."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        task = _TaskSummary(late_ms, judge_until_ms)
        for batch in batches:
            # The input must be read to the end; a task that has given up ignores the rest.
            if not task.is_in_disorder:
                task.add(batch)
        kinds, summaries = zip(*task.rows(), strict=True) if task.segments else ((), ())
        yield pa.RecordBatch.from_arrays(
            [pa.array(kinds, pa.string()), pa.array(summaries, pa.string())], schema=_SUMMARY_ARROW
        )

    return run


class TopicTimes:
    """Latency of one topic's messages from birth to store: in total, and over time.

    :ivar width_ms: width of a time span.
    :ivar spans: number of the span (store time // width) -> durations.
    """

    def __init__(self, width_ms: int = 1_000) -> None:
        self.total = LatencyHistogram()
        self.width_ms = width_ms
        self.spans: dict[int, LatencyHistogram] = {}

    def add(self, stored_ms: Numbers, latency_ms: Numbers) -> None:
        """Add messages: when they were stored, and how long after birth."""
        self.total.add(latency_ms)
        numbers = stored_ms // self.width_ms
        for number in np.unique(numbers).tolist():
            self._span(number).add(latency_ms[numbers == number])
        self._coarsen()

    def update(self, other: TopicTimes) -> None:
        """Add what ``other`` has seen."""
        self.total.update(other.total)
        while other.width_ms > self.width_ms:
            self._double()
        factor = self.width_ms // other.width_ms
        for number, histogram in other.spans.items():
            self._span(number // factor).update(histogram)
        self._coarsen()

    def _span(self, number: int) -> LatencyHistogram:
        return self.spans.setdefault(number, LatencyHistogram())

    def _coarsen(self) -> None:
        while len(self.spans) > TIME_SPANS_MAX:
            self._double()

    def _double(self) -> None:
        old, self.spans = self.spans, {}
        self.width_ms *= 2
        for number, histogram in old.items():
            self._span(number // 2).update(histogram)

    def encode(self) -> dict[str, Any]:
        """Encode for transport and storage: JSON."""
        spans = [[number, histogram.encode()] for number, histogram in self.spans.items()]
        return {"total": self.total.encode(), "width_ms": self.width_ms, "spans": spans}

    @classmethod
    def decode(cls, encoded: dict[str, Any]) -> TopicTimes:
        """Decode what :meth:`encode` returned."""
        made = cls(encoded["width_ms"])
        made.total = LatencyHistogram.decode(encoded["total"])
        made.spans = {number: LatencyHistogram.decode(histogram) for number, histogram in encoded["spans"]}
        return made


class _TaskSummary:
    """The summary of everything that one task has seen."""

    def __init__(self, late_ms: int, judge_until_ms: int) -> None:
        self._late_ms = late_ms
        self._judge_until_ms = judge_until_ms
        #: (producer, topic, queue) -> its segments; more than one only if messages are out of order.
        self.segments: dict[tuple[str, str, str], list[QueueSegment]] = {}
        self.is_in_disorder = False
        self._times: dict[str, TopicTimes] = {}
        #: Topic -> queue -> when its newest message was stored.
        self._newest_ms: dict[str, dict[str, int]] = {}

    def add(self, batch: Any) -> None:
        """Add a record batch of messages."""
        if not batch.num_rows:
            return
        producers, numbers = numbers_of(batch)
        offsets = int64(batch.column("queue_offset"))
        stored_ms, born_ms = (
            milliseconds(batch.column("store_timestamp")),
            milliseconds(batch.column("born_timestamp")),
        )
        topics, topic_codes = _codes(batch.column("topic"))
        queues, queue_codes = _codes(queue_names(batch))
        producer_names, producer_codes = _codes(producers)
        order = np.lexsort((offsets, producer_codes, queue_codes, topic_codes))
        keys = np.stack((topic_codes, queue_codes, producer_codes))[:, order]
        edges = np.flatnonzero(np.any(keys[:, 1:] != keys[:, :-1], axis=0)) + 1
        for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), len(order)], strict=True):
            rows = order[begin:end]
            topic, queue, producer = keys[:, begin].tolist()
            segment = self._segment(producer_names[producer], topics[topic], queues[queue], int(offsets[rows[0]]))
            late = int((stored_ms[rows] - born_ms[rows] > self._late_ms).sum())
            settled = numbers[rows][stored_ms[rows] <= self._judge_until_ms]
            segment.extend(offsets[rows], numbers[rows], late, settled)
            newest_ms = self._newest_ms.setdefault(topics[topic], {})
            newest_ms[queues[queue]] = max(int(stored_ms[rows].max()), newest_ms.get(queues[queue], 0))
        for code, topic_name in enumerate(topics):
            rows = topic_codes == code
            self._times.setdefault(topic_name, TopicTimes()).add(stored_ms[rows], (stored_ms - born_ms)[rows])

    def _segment(self, producer: str, topic: str, queue: str, offset: int) -> QueueSegment:
        stretches = self.segments.setdefault((producer, topic, queue), [])
        if not stretches or offset < stretches[-1].last_offset:
            stretches.append(QueueSegment(producer, topic, queue))
            self.is_in_disorder |= len(stretches) > STRETCHES_MAX
        return stretches[-1]

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield rows of :data:`SUMMARY_SCHEMA`."""
        if self.is_in_disorder:
            yield "disorder", "{}"
            return
        for stretches in self.segments.values():
            for segment in stretches:
                yield "segment", json.dumps(segment.encode())
        for topic, times in self._times.items():
            yield "times", json.dumps({"topic": topic, "newest_ms": self._newest_ms[topic], "times": times.encode()})


def numbers_of(batch: Any) -> tuple[Any, Numbers]:
    """Return producer (an Arrow array of texts) and number of each message; :data:`UNNUMBERED` and -1 if it has
    none.
    """
    properties = batch.column("properties")
    producers = property_values(properties, PRODUCER_ID_PROPERTY)
    texts = property_values(properties, SEQUENCE_NUMBER_PROPERTY)
    # 18 digits always fit; anything else was not written by the numbering.
    good = pc.fill_null(pc.and_(pc.match_substring_regex(texts, r"^[0-9]{1,18}$"), pc.is_valid(producers)), False)
    numbers = pc.fill_null(pc.cast(pc.if_else(good, texts, pa.scalar(None, pa.string())), pa.int64()), -1)
    return pc.if_else(good, producers, UNNUMBERED), int64(numbers)


def queue_names(batch: Any) -> Any:
    """Return ``broker:queue id`` of each message as an Arrow array."""
    return pc.binary_join_element_wise(batch.column("broker_name"), pc.cast(batch.column("queue_id"), pa.string()), ":")


def _codes(values: Any) -> tuple[list[str], Numbers]:
    encoded = values.dictionary_encode()
    return encoded.dictionary.to_pylist(), int64(encoded.indices)
