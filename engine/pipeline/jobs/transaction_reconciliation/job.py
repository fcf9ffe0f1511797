"""Runs the reconciliation: reads, calls the functions beside it, and reports."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.cluster_look import ClusterLook
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.report import ROWS_MAX
from engine.pipeline.jobs.transaction_reconciliation import results
from engine.pipeline.jobs.transaction_reconciliation.facts import COLUMNS_NEEDED, TRANSACTION, facts_of, merge
from engine.pipeline.jobs.transaction_reconciliation.ledgers import (
    BAD,
    Ledgers,
    money,
    read_ledgers,
    transfers,
)
from engine.pipeline.jobs.transaction_reconciliation.stream_state import StreamState
from engine.pipeline.jobs.transaction_reconciliation.verdicts import UNSETTLED, OpQueue, forget, judge
from engine.pipeline.source.queue_offsets import Offsets, to_json_object
from engine.protocol.names import (
    TRANSACTION_CHECK_GROUP,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Topics that half messages name; more than a broker usually has in all.
_TOPICS_MAX = 1_000


class TransactionReconciliation:
    """See :mod:`engine.pipeline.jobs.transaction_reconciliation.description`."""

    def run(self, run: JobRun) -> None:
        """See :class:`~engine.pipeline.jobs.job.Job`."""
        if not run.arguments["follow"] and run.arguments["starting_offsets"] == "latest":
            raise JobFailed("starting_offsets: latest leaves nothing to read; it is for runs with follow")
        if run.arguments["follow"]:
            _Following(run).work()
        else:
            _reconcile_once(run)


JOB = TransactionReconciliation()


def _topics(run: JobRun) -> tuple[str, ...]:
    return tuple(name.strip() for name in (run.arguments["topics"] or "").split(",") if name.strip())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


# --- what brokers say before anything is read ------------------------------------------------------------------------


def _system_ends(look: ClusterLook, op_queue: OpQueue) -> dict[Any, int]:
    """Where half, op and discard queues end, asked in this order: see :func:`judge`."""
    ends: dict[Any, int] = {}
    for topic in _system_topics(op_queue):
        ends |= look.ends(look.queues([topic]))
    return ends


def _system_topics(op_queue: OpQueue) -> tuple[str, ...]:
    ops = (TRANSACTION_OP_HALF_TOPIC,) if op_queue.is_readable else ()
    return (TRANSACTION_HALF_TOPIC, *ops, TRANSACTION_CHECK_MAX_TIME_TOPIC)


def _op_queue(look: ClusterLook) -> OpQueue:
    """Whether op messages can be read, and where the check services stand."""
    ops = look.queues([TRANSACTION_OP_HALF_TOPIC])
    ends = look.ends(ops)
    # A broker without any op message need not know the topic.
    is_readable = all(look.lets_pull(queue) for queue in ops if ends[queue] > 0)
    progress = look.progress(TRANSACTION_CHECK_GROUP, look.queues([TRANSACTION_HALF_TOPIC]))
    return OpQueue(is_readable, {queue.broker_name: offset for queue, offset in progress.items()})


def _tell_of(run: JobRun, op_queue: OpQueue) -> None:
    if not op_queue.is_readable:
        run.report.note(
            {
                "en": "This broker does not let its op queue be read (RocketMQ 4 never does). What was rolled back is "
                "known only as far as the broker's own check-back has come; the rest is 'rolled back or open'.",
                "zh": "该 Broker 不允许读取 Op 队列（RocketMQ 4 一律如此）。只有 Broker 自己的回查走过的部分能确定"
                "已回滚，其余显示为 “rolled back or open”。",
            }
        )


# --- once ------------------------------------------------------------------------------------------------------------


def _reconcile_once(run: JobRun) -> None:
    # The ledgers first: every debit in them has its half message in what is read after.
    ledgers = _read_ledgers(run)
    with ClusterLook(run.cluster) as look:
        op_queue = _op_queue(look)
        ends = _system_ends(look, op_queue)
        _tell_of(run, op_queue)
        system = facts_of(_read(run, _system_topics(op_queue), ends, (*COLUMNS_NEEDED, "body"))).persist()
        try:
            wanted = _topics(run) or _named_topics(system)
            topics = look.known(wanted)
            _tell_unknown(run, [topic for topic in wanted if topic not in topics])
            facts = system
            if topics:
                real_ends = look.ends(look.queues(topics))
                ends |= real_ends
                facts = system.unionByName(facts_of(_read(run, topics, real_ends, COLUMNS_NEEDED)))
            merged = merge(facts).persist()
            try:
                _Results(run, op_queue, _topics(run)).tell(merged, ledgers, is_history=True)
            finally:
                merged.unpersist()
        finally:
            system.unpersist()
    told = to_json_object(ends)
    run.report.offsets(told, told)


def _read(run: JobRun, topics: Sequence[str], ends: Offsets, columns: Sequence[str]) -> DataFrame:
    """The messages of these topics up to fixed ends: Spark may read them more than once."""
    return run.read(
        subscribe=",".join(topics),
        startingOffsets="earliest",
        endingOffsets=json.dumps(to_json_object(ends)),
        columns=",".join(columns),
    )


def _named_topics(facts: DataFrame) -> tuple[str, ...]:
    named = facts.where(f"role = '{TRANSACTION}' AND topic IS NOT NULL").select("topic").distinct()
    return tuple(sorted(row[0] for row in named.limit(_TOPICS_MAX).collect()))


def _tell_unknown(run: JobRun, topics: Sequence[str]) -> None:
    if topics:
        names = ", ".join(topics)
        run.report.note(
            {
                "en": f"These topics are not there (any more); of their committed messages nothing is known: {names}",
                "zh": f"这些主题不存在（或已删除），其已提交的消息无从得知：{names}",
            }
        )


def _read_ledgers(run: JobRun) -> Ledgers | None:
    folder = run.arguments["bank_folder"]
    return read_ledgers(Path(folder)) if folder else None


# --- for as long as it takes -----------------------------------------------------------------------------------------


class _Following:
    """The same as a stream. What is known is kept by :class:`StreamState`, so that a restart goes on."""

    def __init__(self, run: JobRun) -> None:
        self._run = run

    def work(self) -> None:
        """Until stopped."""
        run = self._run
        with ExitStack() as stack:
            folder = run.arguments["checkpoint_folder"]
            if not folder:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="glassmq-reconciliation-"))
            with ClusterLook(run.cluster) as look:
                op_queue = _op_queue(look)
                _tell_of(run, op_queue)
                topics = self._real_topics(look, op_queue)
            state = StreamState(run.spark, f"{folder}/state")
            query = (
                self._facts(topics, op_queue)
                .writeStream.foreachBatch(partial(self._batch, state, op_queue))
                .option("checkpointLocation", f"{folder}/query")
                .trigger(processingTime=f"{run.arguments['trigger_ms']} milliseconds")
                .queryName("transaction-reconciliation")
                .start()
            )
            run.watch(query)

    def _real_topics(self, look: ClusterLook, op_queue: OpQueue) -> tuple[str, ...]:
        wanted = _topics(self._run)
        if not wanted:
            ends = look.ends(look.queues([TRANSACTION_HALF_TOPIC]))
            half = _read(self._run, [TRANSACTION_HALF_TOPIC], ends, (*COLUMNS_NEEDED, "body"))
            wanted = _named_topics(facts_of(half))
        topics = look.known(wanted)
        _tell_unknown(self._run, [topic for topic in wanted if topic not in topics])
        if not topics:
            raise JobFailed("topics: no half message names a topic yet; give the topics to follow")
        self._run.report.note(
            {
                "en": f"Follows the transactions for {', '.join(topics)}.",
                "zh": f"跟踪发往 {', '.join(topics)} 的事务。",
            }
        )
        return topics

    def _facts(self, topics: Sequence[str], op_queue: OpQueue) -> DataFrame:
        def read(names: Sequence[str], columns: Sequence[str]) -> DataFrame:
            return facts_of(
                self._run.read_stream(
                    subscribe=",".join(names),
                    startingOffsets=self._run.arguments["starting_offsets"],
                    columns=",".join(columns),
                )
            )

        # Bodies are needed of op messages only, so real topics are a source of their own. It comes second: Spark asks
        # sources for their ends in this order, and what is committed must not be seen later than its op message.
        return read(_system_topics(op_queue), (*COLUMNS_NEEDED, "body")).unionByName(read(topics, COLUMNS_NEEDED))

    def _batch(self, state: StreamState, op_queue: OpQueue, facts: DataFrame, batch_id: int) -> None:
        keep_ms = self._run.arguments["keep_settled_ms"]
        if not op_queue.is_readable:
            with ClusterLook(self._run.cluster) as look:
                op_queue = _op_queue(look)
        merged = state.advance(batch_id, facts, lambda known: forget(known, keep_ms, op_queue))
        _Results(self._run, op_queue, _topics(self._run)).tell(merged, _read_ledgers(self._run), is_history=False)


# --- results ---------------------------------------------------------------------------------------------------------


class _Results:
    """Tells what merged facts say."""

    def __init__(self, run: JobRun, op_queue: OpQueue, topics: tuple[str, ...]) -> None:
        self._run = run
        self._report = run.report
        self._op_queue = op_queue
        self._topics = topics

    def tell(self, merged: DataFrame, ledgers: Ledgers | None, *, is_history: bool) -> None:
        """:param is_history: everything there is was read: plots show all of it; else one point is added."""
        judged = judge(merged, self._op_queue, self._topics).persist()
        try:
            self._tell_transactions(judged, merged, is_history=is_history)
            windows = {results.HALF_TO_COMMITTED: results.message_windows(judged)}
            if ledgers is not None:
                windows |= self._tell_money(judged, ledgers, is_history=is_history)
            self._report.table("windows", [results.window_row(what, found) for what, found in windows.items()])
            longest = [row for what, found in windows.items() for row in results.longest_rows(what, found)]
            self._report.table("longest", longest)
        finally:
            judged.unpersist()

    def _tell_transactions(self, judged: DataFrame, merged: DataFrame, *, is_history: bool) -> None:
        summary = results.summary_rows(judged, merged)
        self._report.table("summary", summary)
        counts: Mapping[Any, Any] = {row[0]: row[1] for row in summary}
        unsettled = sum(counts.get(status, 0) for status in UNSETTLED)
        found = results.open_rows(judged, _now_ms()) if unsettled else []
        self._report.table("open", found, left_out=unsettled - len(found))
        findings = results.finding_rows(judged)
        count = results.finding_count(judged) if len(findings) >= ROWS_MAX else len(findings)
        self._report.table("findings", findings, left_out=count - len(findings))
        if is_history:
            for at_ms, level in results.level_over_time(results.open_changes(judged)):
                self._report.point("open", "open", at_ms, level)
            self._tell_outcome(summary, count)
        else:
            self._report.point("open", "open", _now_ms(), unsettled)

    def _tell_outcome(self, summary: results.Rows, findings: int) -> None:
        if not summary:
            self._report.note({"en": "There are no transactions.", "zh": "没有事务消息。"})
        elif not findings:
            self._report.note({"en": "Nothing happened that must not.", "zh": "没有发现不该发生的事。"})

    def _tell_money(self, judged: DataFrame, ledgers: Ledgers, *, is_history: bool) -> dict[str, DataFrame]:
        until_ms = None if is_history else judged.selectExpr("unix_millis(max(last_stored))").collect()[0][0]
        found = transfers(self._run.spark, ledgers, judged, until_ms)
        sums = money(ledgers, results.agreement_sums(found))
        expected = self._run.arguments["opening_sum"]
        is_conserved = sums.is_conserved and expected in (None, sums.before)
        before = sums.before if expected is None else expected
        self._report.table(
            "money",
            [[before, sums.after, sums.in_flight, sums.lost, sums.from_nowhere, is_conserved, sums.problems]],
        )
        self._report.table(
            "accounts",
            [[one.bank, one.name, one.opening, one.debited, one.credited, one.balance] for one in ledgers.accounts],
        )
        rows = results.transfer_rows(found, BAD)
        self._report.table("transfers", rows)
        if is_history:
            for at_ms, level in results.level_over_time(results.money_changes(found)):
                self._report.point("in_flight", "in flight", at_ms, level)
        else:
            self._report.point("in_flight", "in flight", _now_ms(), sums.in_flight)
        return {results.DEBIT_TO_CREDIT: results.bank_windows(found)}
