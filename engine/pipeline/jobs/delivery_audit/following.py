"""The audit as a stream: batch after batch, with its state in the checkpoint folder.

::

    CHECKPOINT/query/...               Spark's: how far has been read
    CHECKPOINT/audit/state-N.json      the books after batch N
    CHECKPOINT/audit/pending-N/...     events that must be looked at again after batch N (Parquet)

``state-N.json`` decides: it is written completely or not at all, after everything else of batch N. Spark delivers a
batch again if the driver died before it had recorded its end; if the state of that batch exists, it is skipped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.delivery_audit.consumption import JudgedTime, history_of, unsettled
from engine.pipeline.jobs.delivery_audit.consumption_book import ConsumptionBook
from engine.pipeline.jobs.delivery_audit.delivery_book import DeliveryBook
from engine.pipeline.jobs.delivery_audit.judged_groups import JudgedGroups
from engine.pipeline.jobs.delivery_audit.place_search import PlaceSearch, SegmentExtent
from engine.pipeline.jobs.delivery_audit.results import AuditReporter, findings_of, located, wanted_places
from engine.pipeline.jobs.delivery_audit.saved_state import loaded, saved
from engine.pipeline.jobs.delivery_audit.summaries import LatencySpans, latency_spans, narrow, segments_of
from engine.pipeline.jobs.delivery_audit.trace_events import stored_events, trace_events
from engine.pipeline.jobs.job import persisted
from engine.pipeline.jobs.report import JobReport
from engine.pipeline.jobs.shared_files import SharedFiles
from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: (group, topic) -> queue -> offset.
GroupOffsets = dict[tuple[str, str], dict[str, int]]
#: A message that a group has not consumed by then is forgotten, and later reports about it are not counted.
FORGET_AFTER_MS = 3_600_000
#: After a full batch: if none has followed for this many triggers, it was the last.
TRIGGERS_WITHOUT_A_BATCH = 3
#: How long the end of the audit waits for a report in progress, or for a micro-batch that was interrupted.
_LAST_WORD_S = 1.0
_FOLDER = "audit"
#: Of the saved state; another number is of another version of GlassMQ.
_FORMAT = 3


@dataclass(frozen=True, slots=True)
class FollowRules:
    """The scope of an audit; constant for the lifetime of a checkpoint.

    :ivar groups: as in :attr:`JudgedGroups.named`.
    """

    topics: tuple[str, ...]
    groups: tuple[str, ...] | None
    trace_topic: str
    ledger_topic: str
    late_ms: int
    grace_ms: int
    read_limit: int


class Follower:
    """Process the batches of the query.

    :ivar files: the checkpoint folder.
    :ivar batch: the last batch in the books; -1: none yet.
    """

    def __init__(
        self,
        spark: SparkSession,
        checkpoint: str,
        rules: FollowRules,
        report: JobReport,
        ask_offsets: Callable[[list[tuple[str, str]]], GroupOffsets] = lambda _: {},
        trigger_ms: int = 2_000,
        read: Callable[..., DataFrame] | None = None,
        *,
        has_trace: bool = True,
    ) -> None:
        """Create a follower.

        :param ask_offsets: returns the offsets of groups as
            :func:`~engine.pipeline.jobs.delivery_audit.group_offsets.group_offsets` does.
        :param trigger_ms: how often the query checks for a new batch.
        :param read: as in :class:`PlaceSearch`; None: findings get no places.
        :param has_trace: whether the batches contain the trace topic; a restart may find one that did not exist.
        """
        self.files = SharedFiles(spark, checkpoint)
        self.batch = -1
        self._spark = spark
        self._rules = rules
        self._has_trace = has_trace
        self._ask_offsets = ask_offsets
        self._trigger_ms = trigger_ms
        self._ends = threading.Event()
        self._search = PlaceSearch(read, self._ends) if read is not None else None
        self._reporter = AuditReporter(report)
        self._rows_max = report.rows_max
        self.book = DeliveryBook(rules.topics)
        self.consumption = ConsumptionBook(JudgedGroups(rules.groups))
        self._lock = threading.Lock()
        self._idle = threading.Timer(0, self._judge_when_idle)
        self._load()

    def add_batch(self, frame: DataFrame, batch: int) -> None:
        """Process a batch; called by ``foreachBatch``."""
        with self._lock:
            self._add(frame, batch)

    def _add(self, frame: DataFrame, batch: int) -> None:
        if batch == self.batch:
            return
        if batch != self.batch + 1:
            raise JobFailed(Text("job.error.other_batches", folder=self.files.root, known=self.batch, batch=batch))
        self._idle.cancel()
        rules, topic = self._rules, F.col("topic")
        is_special = topic.isin(rules.trace_topic, rules.ledger_topic)
        frame = frame.withColumn("body", F.when(is_special, F.col("body")))
        # Used several times; without this the source would be read as often.
        with persisted(narrow(frame, "body")) as narrowed:
            latency = self._add_messages(narrowed, batch)
            if self._has_trace:
                self._add_events(narrowed, batch)
            else:
                self.book.untraced_ms = self.book.newest_ms
        self.batch = batch
        self._save()
        self._report()
        self._reporter.plot(latency)
        wait_ms = self._rules.grace_ms
        if self.book.horizon_ms < self.book.newest_ms:
            # The batch was as full as a batch may be: the next one follows immediately, unless nothing was left to
            # read.
            wait_ms += TRIGGERS_WITHOUT_A_BATCH * self._trigger_ms
        self._start_timer(wait_ms)

    def _start_timer(self, wait_ms: int) -> None:
        self._idle = threading.Timer(wait_ms / 1_000, self._judge_when_idle)
        self._idle.daemon = True
        self._idle.start()

    def _judge_when_idle(self) -> None:
        """Judge when everything was read and nothing has come since: the end of the grace period needs no later
        message. Report again while there are places to search.
        """
        with self._lock:
            # A timer that has run out while a batch was added is not the latest.
            if threading.current_thread() is not self._idle or self._ends.is_set():
                return
            self.book.settle(self.book.newest_ms)
            self._report()
            if self._search is not None and self._search.has_more and not self._ends.is_set():
                self._start_timer(self._trigger_ms)

    def _add_messages(self, frame: DataFrame, batch: int) -> LatencySpans:
        rules, book = self._rules, self.book
        segments = segments_of(frame, rules.late_ms, -1)
        latency = latency_spans(frame, segments, rules.topics)
        book.add(segments, rules.read_limit)
        book.add_latency(latency)
        if self._search is not None:
            self._search.add(batch, (segment for segment in segments if segment.topic in rules.topics))
        if any(segment.topic == rules.ledger_topic for segment in segments):
            book.read_ledgers(frame.filter(F.col("topic") == rules.ledger_topic))
        book.settle(book.horizon_ms - rules.grace_ms)
        return latency

    def _add_events(self, frame: DataFrame, batch: int) -> None:
        rules, topic = self._rules, F.col("topic")
        trace = frame.filter(topic == rules.trace_topic)
        events = stored_events(frame.filter(topic.isin(*rules.topics)))
        events = events.union(trace_events(trace, rules.topics, self.consumption.groups))
        if self.files.exists(_pending(self.batch)):
            events = events.union(self._spark.read.parquet(self.files.uri(_pending(self.batch))))
        horizon_ms = self.book.horizon_ms
        judged = JudgedTime(horizon_ms - rules.grace_ms, self.book.acknowledged_since_ms)
        with persisted(history_of(events)) as history:
            kept = unsettled(history, judged, self.consumption.expected(), horizon_ms - FORGET_AFTER_MS)
            kept.write.mode("overwrite").parquet(self.files.uri(_pending(batch)))
            self.consumption.add(history, judged)

    # --- kept state --------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        states = [name for name in self.files.names(_FOLDER) if name.startswith("state-")]
        if not states:
            return
        state = json.loads(self.files.read(f"{_FOLDER}/{states[-1]}"))
        if state.get("format") != _FORMAT:
            raise JobFailed(Text("job.error.other_version", folder=self.files.root))
        if state["rules"] != json.loads(json.dumps(asdict(self._rules))):
            raise JobFailed(Text("job.error.other_arguments", folder=self.files.root, rules=state["rules"]))
        self.batch = state["batch"]
        self.book, self.consumption = loaded(state["books"], tuple[DeliveryBook, ConsumptionBook])
        if self._search is not None and "extents" in state:
            self._search.extents.extend(loaded(state["extents"], list[SegmentExtent]))

    def _save(self) -> None:
        state = {
            "format": _FORMAT,
            "batch": self.batch,
            "rules": asdict(self._rules),
            "books": saved((self.book, self.consumption)),
            "extents": saved(list(self._search.extents if self._search is not None else ())),
        }
        self.files.write_new(f"{_FOLDER}/state-{self.batch:010d}.json", json.dumps(state))
        for name in self.files.names(_FOLDER):
            number = name.partition("-")[2].removesuffix(".json")
            if number.isdigit() and int(number) < self.batch:
                self.files.delete(f"{_FOLDER}/{name}")

    # --- reports -----------------------------------------------------------------------------------------------------

    def _report(self) -> None:
        consumption = self.consumption if self._has_trace else None
        if consumption is not None:
            consumption.offsets = self._ask_offsets(consumption.expected())
        findings, counts = findings_of(self.book, consumption, self._rows_max)
        if self._search is not None:
            findings = list(located(findings, self._search.places(wanted_places(findings))))
        if not self._ends.is_set():
            self._reporter.report(self.book, consumption, (findings, counts))

    def conclude(self) -> None:
        """Report the conclusion when the audit ends. No report follows it."""
        self._ends.set()
        self._idle.cancel()
        is_alone = self._lock.acquire(timeout=_LAST_WORD_S)
        try:
            if self.batch >= 0:
                self._reporter.conclude(self.book, self.consumption if self._has_trace else None)
        finally:
            if is_alone:
                self._lock.release()


def _pending(batch: int) -> str:
    return f"{_FOLDER}/pending-{batch:010d}"
