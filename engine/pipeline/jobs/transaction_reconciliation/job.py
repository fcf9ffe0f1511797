"""The reconciliation job: reads, calls the functions of this package, and reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import lit

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.arguments import listed_names
from engine.pipeline.jobs.job import JobRun, persisted
from engine.pipeline.jobs.transaction_reconciliation.facts import COLUMNS_NEEDED, facts_of, merge, parts_of
from engine.pipeline.jobs.transaction_reconciliation.ledger_watch import LedgerWatch
from engine.pipeline.jobs.transaction_reconciliation.ledgers import LEDGER_FILES, Ledgers, check_ledger
from engine.pipeline.jobs.transaction_reconciliation.results import ReconciliationReporter, current_ms
from engine.pipeline.jobs.transaction_reconciliation.stream_state import LedgerMemory, StreamState
from engine.pipeline.jobs.transaction_reconciliation.verdicts import OpQueue, forget
from engine.pipeline.jobs.transaction_reconciliation.words import Status
from engine.pipeline.source.cluster.cluster import Cluster, open_cluster
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import Offsets, to_json_object
from engine.protocol.names import (
    NOT_ALLOWED_SEND_TOPICS,
    TRANSACTION_CHECK_GROUP,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
)
from engine.texts import Text


def transaction_reconciliation(run: JobRun) -> None:
    """Run the job of :mod:`engine.pipeline.jobs.transaction_reconciliation.description`."""
    check_arguments(run.arguments)
    if run.arguments["follow"]:
        _Following(run).work()
    else:
        _reconcile_once(run)


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Raise :class:`JobFailed` for arguments with which the job cannot start."""
    if not arguments["follow"] and arguments["starting_offsets"] == "latest":
        raise JobFailed(Text("job.error.starts_at_the_end"))
    if wrong := ", ".join(topic for topic in listed_names(arguments["topics"]) if topic in NOT_ALLOWED_SEND_TOPICS):
        raise JobFailed(Text("job.error.topics_of_brokers", wrong=wrong))
    if arguments["bank_folder"]:
        for name in LEDGER_FILES:
            check_ledger(Path(arguments["bank_folder"]) / name)


JOB, CHECK = transaction_reconciliation, check_arguments


# --- queries before the read -----------------------------------------------------------------------------------------


def _system_ends(cluster: Cluster, op_queue: OpQueue) -> dict[Any, int]:
    """Return the ends of half, op and discard queues, requested in this order, on which ``judge`` relies."""
    ends: dict[Any, int] = {}
    for topic in _system_topics(op_queue):
        ends |= cluster.max_offsets(cluster.queues([topic]))
    return ends


def _system_topics(op_queue: OpQueue) -> tuple[str, ...]:
    ops = (TRANSACTION_OP_HALF_TOPIC,) if op_queue.is_readable else ()
    return (TRANSACTION_HALF_TOPIC, *ops, TRANSACTION_CHECK_MAX_TIME_TOPIC)


def _op_queue(cluster: Cluster) -> OpQueue:
    """Return whether op messages can be read, and the positions of the check services."""
    ops = cluster.queues([TRANSACTION_OP_HALF_TOPIC])
    ends = cluster.max_offsets(ops)
    # A broker without any op message need not have the topic.
    is_readable = all(cluster.lets_pull(queue) for queue in ops if ends[queue] > 0)
    if is_readable:
        return OpQueue()
    try:
        progress = cluster.group_offsets(TRANSACTION_CHECK_GROUP, cluster.queues([TRANSACTION_HALF_TOPIC]))
    except RocketMQError as error:
        if error.condition != "ROCKETMQ_REFUSED":
            raise
        # Less is known then; the note about the op queue reports it.
        progress = {}
    return OpQueue(False, {queue.broker_name: offset for queue, offset in progress.items()})


def _report_of(run: JobRun, op_queue: OpQueue) -> None:
    if not op_queue.is_readable:
        run.report.note(Text("job.note.op_queue_unreadable"))


# --- single run ------------------------------------------------------------------------------------------------------


def _reconcile_once(run: JobRun) -> None:
    # The ledgers first: every debit in them has its half message in what is read after. Transfers that complete
    # meanwhile are left out, see :meth:`Ledgers.compare`.
    folder = _bank_folder(run)
    opened = nullcontext() if folder is None else Ledgers(folder, run.report.rows_max)
    with opened as ledgers, open_cluster(run.cluster) as cluster:
        op_queue = _op_queue(cluster)
        ends = _system_ends(cluster, op_queue)
        _report_of(run, op_queue)
        # Persisted, since it may have to give the topics first; read once.
        with persisted(parts_of(_read(run, _system_topics(op_queue), ends, (*COLUMNS_NEEDED, "body")))) as system:
            topics = _known_topics(run, cluster, run.names("topics") or _named_topics(system))
            parts = system
            if topics:
                real_ends = cluster.max_offsets(cluster.queues(topics))
                ends |= real_ends
                committed = parts_of(_read(run, topics, real_ends, COLUMNS_NEEDED)).where("part = 'committed'")
                # A constant, by which Spark sees that these messages are neither half nor op messages, and reads them
                # once.
                parts = system.unionByName(committed.withColumn("part", lit("committed")))
            # Only a stream needs to know later where half messages were.
            with persisted(merge(facts_of(parts)).drop("half_offsets")) as merged:
                ReconciliationReporter(run, op_queue, topics).report(merged, ledgers)
    reported = to_json_object(ends)
    run.report.offsets(reported, reported)


def _read(run: JobRun, topics: Sequence[str], ends: Offsets, columns: Sequence[str]) -> DataFrame:
    """Return the messages of these topics up to fixed ends: Spark may read them more than once."""
    return run.read(
        subscribe=",".join(topics),
        startingOffsets="earliest",
        endingOffsets=json.dumps(to_json_object(ends)),
        columns=",".join(columns),
    )


def _named_topics(parts: DataFrame) -> tuple[str, ...]:
    named = parts.where("part <> 'op'").select("real_topic").distinct()
    # A sender can name any topic; those of the brokers are read already.
    named = named.where(~named["real_topic"].isin(sorted(NOT_ALLOWED_SEND_TOPICS))).orderBy("real_topic")
    return tuple(topic for (topic,) in named.collect())


def _known_topics(run: JobRun, cluster: Cluster, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the topics that the cluster has; report the others."""
    topics = cluster.known(wanted)
    if names := ", ".join(topic for topic in wanted if topic not in topics):
        run.report.note(Text("job.note.topics_gone", names=names))
    return topics


def _bank_folder(run: JobRun) -> Path | None:
    folder = run.arguments["bank_folder"]
    return Path(folder) if folder else None


# --- following -------------------------------------------------------------------------------------------------------


class _Following:
    """The job as a stream. Its knowledge is stored by :class:`StreamState`, so that a restart continues."""

    def __init__(self, run: JobRun) -> None:
        self._run = run
        self._ledgers = LedgerWatch(_bank_folder(run), run.arguments["trigger_ms"], run.report.rows_max)

    def work(self) -> None:
        """Run until stopped."""
        run = self._run
        with self._ledgers, run.checkpoint() as folder:
            with open_cluster(run.cluster) as cluster:
                op_queue = _op_queue(cluster)
                _report_of(run, op_queue)
                topics = self._real_topics(cluster, op_queue)
            state = StreamState(run.spark, f"{folder}/facts")
            batch = partial(self._batch, state, op_queue, topics)
            run.follow(self._facts(topics, op_queue), batch, f"{folder}/query", name="transaction-reconciliation")

    def _real_topics(self, cluster: Cluster, op_queue: OpQueue) -> tuple[str, ...]:
        wanted = self._run.names("topics")
        if not wanted:
            ends = cluster.max_offsets(cluster.queues([TRANSACTION_HALF_TOPIC]))
            half = _read(self._run, [TRANSACTION_HALF_TOPIC], ends, (*COLUMNS_NEEDED, "body"))
            wanted = _named_topics(parts_of(half))
        topics = _known_topics(self._run, cluster, wanted)
        if not topics:
            raise JobFailed(Text("job.error.no_topics"))
        self._run.report.note(
            Text("job.note.follows_topics", topics=", ".join(topics), not_read=Text(f"job.cell.{Status.NOT_READ}"))
        )
        return topics

    def _facts(self, topics: Sequence[str], op_queue: OpQueue) -> DataFrame:
        def read(names: Sequence[str], columns: Sequence[str]) -> DataFrame:
            return parts_of(
                self._run.read_stream(
                    subscribe=",".join(names),
                    startingOffsets=self._run.arguments["starting_offsets"],
                    columns=",".join(columns),
                )
            )

        # Only op messages need bodies, so real topics are a source of their own. It comes second: Spark requests the
        # ends of sources in this order, and a commit must not be seen later than its op message.
        system = read(_system_topics(op_queue), (*COLUMNS_NEEDED, "body"))
        return facts_of(system.unionByName(read(topics, COLUMNS_NEEDED)))

    def _batch(
        self, state: StreamState, op_queue: OpQueue, topics: tuple[str, ...], facts: DataFrame, batch_id: int
    ) -> None:
        keep_ms = self._run.arguments["keep_settled_ms"]
        if not op_queue.is_readable:
            with open_cluster(self._run.cluster) as cluster:
                op_queue = _op_queue(cluster)
        with self._ledgers.look() as ledgers:
            memory: LedgerMemory | None = None
            kept_keys: list[str] = []
            if ledgers is not None:
                # What is beyond these keys may be within them later, when its message may be forgotten already.
                memory = self._memory(state, batch_id).with_unknown(ledgers.uncredited_beyond())
                # A credit may be late for longer than a settled transaction is remembered.
                kept_keys = [*ledgers.uncredited(), *memory.without_transfer]
            merged = state.advance(batch_id, facts, lambda known: forget(known, keep_ms, op_queue, kept_keys, topics))
            reporter = ReconciliationReporter(self._run, op_queue, topics, is_history=False)
            self._ledgers.report_again_by(reporter.report(merged, ledgers, None if memory is None else memory.unknown))
            if ledgers is not None and memory is not None:
                without_transfer = tuple(ledgers.without_transfer(memory.without_transfer))
                memory = replace(memory, without_transfer=without_transfer)
            state.keep_memory(batch_id, memory)

    def _memory(self, state: StreamState, batch_id: int) -> LedgerMemory:
        """Return what is known about the ledgers before a micro-batch."""
        if (kept := state.memory(batch_id)) is not None:
            return kept
        if state.is_first(batch_id) and self._run.arguments["starting_offsets"] == "earliest":
            return LedgerMemory()
        # Spark has fixed by now where reading begins; or the ledgers are used for the first time, and old settled
        # transactions are forgotten.
        return LedgerMemory(unknown=(0, current_ms()))
