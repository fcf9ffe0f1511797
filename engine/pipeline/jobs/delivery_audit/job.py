"""The job ``delivery-audit``: reads, judges, reports."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.arguments import listed_names
from engine.pipeline.jobs.delivery_audit.consumption import JudgedTime, history_of
from engine.pipeline.jobs.delivery_audit.consumption_book import ConsumptionBook
from engine.pipeline.jobs.delivery_audit.delivery_book import DeliveryBook
from engine.pipeline.jobs.delivery_audit.following import Follower, FollowRules
from engine.pipeline.jobs.delivery_audit.group_offsets import group_offsets
from engine.pipeline.jobs.delivery_audit.judged_groups import JudgedGroups
from engine.pipeline.jobs.delivery_audit.locating import locate
from engine.pipeline.jobs.delivery_audit.results import AuditReporter, findings_of, located, wanted_places
from engine.pipeline.jobs.delivery_audit.summaries import COLUMNS, latency_spans, narrow, segments_of
from engine.pipeline.jobs.delivery_audit.trace_events import stored_events, trace_events
from engine.pipeline.jobs.job import JobRun, persisted
from engine.pipeline.source.cluster.cluster import open_cluster
from engine.protocol.names import DLQ_GROUP_TOPIC_PREFIX, RETRY_GROUP_TOPIC_PREFIX, SYSTEM_TOPICS
from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Later than anything stored.
END_OF_TIME_MS = 1 << 53


def delivery_audit(run: JobRun) -> None:
    """Run ``glassmq pipeline delivery-audit``."""
    arguments = run.arguments
    check_arguments(arguments)
    if arguments["input_folder"]:
        audit_folder(run, run.spark.read.parquet(arguments["input_folder"]))
    elif arguments["follow"]:
        _follow(run)
    else:
        _audit_broker(run)


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Raise :class:`JobFailed` for arguments that do not go together."""
    if arguments["groups"] and not arguments["judge_groups"]:
        raise JobFailed(Text("job.error.groups_not_judged"))
    if arguments["input_folder"] and arguments["follow"]:
        raise JobFailed(Text("job.error.follow_needs_broker"))
    if not arguments["input_folder"] and not arguments["follow"] and arguments["starting_offsets"] != "earliest":
        raise JobFailed(Text("job.error.latest_needs_follow"))
    if topics := listed_names(arguments["topics"]):
        _judged_groups(arguments, topics)


def _judged_groups(arguments: Mapping[str, Any], topics: tuple[str, ...]) -> JudgedGroups:
    groups = JudgedGroups(listed_names(arguments["groups"]) if arguments["judge_groups"] else None)
    if unknown := ", ".join(topic for topic in groups.topics() if topic not in topics):
        audited = ", ".join(topics)
        raise JobFailed(Text("job.error.group_topic", unknown=unknown, audited=audited))
    return groups


def _audit_broker(run: JobRun) -> None:
    arguments = run.arguments
    topics = run.names("topics")
    with open_cluster(run.cluster) as cluster:
        known = cluster.known([arguments["trace_topic"], arguments["ledger_topic"]])
    # Messages stored from now on are too recent to be judged, so later reads may see more than the first.
    judge_until_ms = int(time.time() * 1_000) - arguments["grace_ms"]
    ledgers = trace = None
    if arguments["ledger_topic"] in known:
        ledgers = run.read(topic=arguments["ledger_topic"], columns="topic,body,store_timestamp")
    if arguments["trace_topic"] in known:
        trace = run.read(topic=arguments["trace_topic"], columns="body,unique_id")
    messages = run.read(subscribe=",".join(topics), columns=",".join(COLUMNS))
    audit(run, messages, trace, ledgers, judge_until_ms, topics)


def audit_folder(run: JobRun, everything: DataFrame) -> None:
    """Audit messages of any source, in any order, among them trace messages and ledgers; all of it is judged."""
    arguments = run.arguments
    missing = [name for name in (*COLUMNS, "body") if name not in everything.columns]
    if missing:
        columns = ", ".join(missing)
        raise JobFailed(Text("job.error.no_column", columns=columns))
    topic = F.col("topic")
    trace_topic, ledger_topic = arguments["trace_topic"], arguments["ledger_topic"]
    found = {row.topic: None for row in everything.select("topic").distinct().collect()}
    topics = run.names("topics")
    if not topics:
        topics = tuple(sorted(name for name in found if _is_of_users(name) and name not in (trace_topic, ledger_topic)))
    messages = everything.filter(topic.isin(*topics)).select(*COLUMNS)
    trace = everything.filter(topic == trace_topic) if trace_topic in found else None
    ledgers = everything.filter(topic == ledger_topic)
    audit(run, messages, trace, ledgers, END_OF_TIME_MS, topics)


def _is_of_users(topic: str) -> bool:
    return topic not in SYSTEM_TOPICS and not topic.startswith((RETRY_GROUP_TOPIC_PREFIX, DLQ_GROUP_TOPIC_PREFIX))


def audit(
    run: JobRun,
    messages: DataFrame,
    trace: DataFrame | None,
    ledgers: DataFrame | None,
    judge_until_ms: int,
    topics: tuple[str, ...],
) -> None:
    """Audit these messages once, and report the results."""
    groups = _judged_groups(run.arguments, topics)
    book = DeliveryBook(topics)
    # Ledgers first: everything they mention is in what is read after them.
    if ledgers is not None:
        book.read_ledgers(ledgers.selectExpr("body", "unix_millis(store_timestamp) AS stored_ms"))
    # Used several times; without this the source would be read as often.
    with persisted(narrow(messages)) as narrowed:
        segments = segments_of(narrowed, run.arguments["late_ms"], judge_until_ms)
        latency = latency_spans(narrowed, segments, topics)
        book.add(segments)
        book.add_latency(latency)
        book.settle(judge_until_ms)
        consumption = None
        if trace is None:
            run.report.note(Text("job.note.no_traces", topic=run.arguments["trace_topic"]))
        elif not run.stop.is_set():
            consumption = ConsumptionBook(groups)
            history = history_of(stored_events(narrowed).union(trace_events(trace, topics, groups)))
            consumption.add(history, JudgedTime(judge_until_ms, book.acknowledged_since_ms))
            if not run.arguments["input_folder"]:
                consumption.offsets = group_offsets(run.cluster, consumption.expected())
        findings, counts = findings_of(book, consumption, run.report.rows_max)
        wanted = wanted_places(findings)
        if wanted and not run.stop.is_set():
            findings = list(located(findings, locate(narrowed, wanted)))
    reporter = AuditReporter(run.report)
    reporter.report(book, consumption, (findings, counts))
    reporter.plot(latency)
    reporter.conclude(book, consumption)
    if not book.queues:
        run.report.note(Text("job.note.no_messages_to_audit"))


def _follow(run: JobRun) -> None:
    arguments = run.arguments
    topics = run.names("topics")
    groups = _judged_groups(arguments, topics)
    with open_cluster(run.cluster) as cluster:
        known = cluster.known([arguments["trace_topic"], arguments["ledger_topic"]])
    if not (has_trace := arguments["trace_topic"] in known):
        run.report.note(Text("job.note.no_traces_yet", topic=arguments["trace_topic"]))
    rules = FollowRules(
        topics=topics,
        groups=groups.named,
        trace_topic=arguments["trace_topic"],
        ledger_topic=arguments["ledger_topic"],
        late_ms=arguments["late_ms"],
        grace_ms=arguments["grace_ms"],
        read_limit=arguments["max_messages_per_batch"],
    )
    messages = run.read_stream(
        subscribe=",".join(dict.fromkeys((*topics, *known))),
        startingOffsets=arguments["starting_offsets"],
        maxOffsetsPerTrigger=str(arguments["max_messages_per_batch"]),
        columns=",".join((*COLUMNS, "body")),
    )
    with run.checkpoint() as checkpoint:
        ask_offsets = partial(group_offsets, run.cluster)
        trigger_ms = arguments["trigger_ms"]
        follower = Follower(
            run.spark, checkpoint, rules, run.report, ask_offsets, trigger_ms, run.read, has_trace=has_trace
        )
        run.follow(messages, follower.add_batch, follower.files.uri("query"))
        follower.conclude()


JOB, CHECK = delivery_audit, check_arguments
