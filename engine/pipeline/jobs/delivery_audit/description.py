"""Description of the delivery audit."""

from __future__ import annotations

from functools import partial

from engine.pipeline.jobs.delivery_audit.finding_kinds import KINDS, Certainty
from engine.pipeline.jobs.description import (
    CHECKPOINT_FOLDER,
    DAY_MS,
    FOLLOW,
    STARTING_END,
    JobDescription,
    JobParameter,
    JobPlot,
    JobTable,
    ParameterKind,
    cell_texts,
    columns,
    messages_max,
    trigger_ms,
)
from engine.protocol.message.numbering_ledger import NUMBERING_LEDGER_TOPIC
from engine.protocol.names import TRACE_TOPIC
from engine.texts import Text

#: The counts of a verdict in the table of producers.
VERDICT_COUNTS = (
    "numbered",
    "stored",
    "lost",
    "duplicated",
    "out_of_order",
    "late",
    "refused",
    "unknown",
    "not_judged",
)
_columns = partial(
    columns,
    cells={
        "kind": cell_texts(*KINDS),
        "certainty": cell_texts(*Certainty),
        "producer": cell_texts("(not numbered)"),
        "from_to": cell_texts("born > stored", "stored > consumed"),
    },
)

DESCRIPTION = JobDescription(
    name="delivery-audit",
    title=Text("job.delivery-audit.title"),
    about=Text("job.delivery-audit.about"),
    parameters=(
        JobParameter("topics", ParameterKind.TOPICS, unless="input_folder", text=Text("job.delivery-audit.topics")),
        JobParameter("groups", ParameterKind.GROUPS),
        JobParameter("judge_groups", ParameterKind.SWITCH, default=True),
        JobParameter("trace_topic", ParameterKind.TOPIC, default=TRACE_TOPIC),
        JobParameter("ledger_topic", ParameterKind.TOPIC, default=NUMBERING_LEDGER_TOPIC),
        JobParameter("late_ms", ParameterKind.DURATION, default=1_000, minimum=0, maximum=DAY_MS),
        JobParameter("grace_ms", ParameterKind.DURATION, default=5_000, minimum=0, maximum=DAY_MS),
        STARTING_END,
        FOLLOW,
        trigger_ms(2_000),
        messages_max("max_messages_per_batch", 1_000_000),
        CHECKPOINT_FOLDER,
        JobParameter("input_folder", ParameterKind.FOLDER),
    ),
    tables=(
        JobTable(
            "producers", _columns("producer", "topic", *VERDICT_COUNTS, "has_ended", "findings"), bad_column="findings"
        ),
        JobTable("finding_counts", _columns("kind", "count"), bad_column="count"),
        JobTable(
            "findings",
            _columns("kind", "topic", "who", "queue", "first", "last", "count", "certainty", "where"),
            bad_column="count",
        ),
        JobTable(
            "groups",
            _columns("group", "topic", "stored", "consumed", "missing", "unreported", "twice", "failed", "findings"),
            bad_column="findings",
        ),
        JobTable("latency", _columns("from_to", "topic", "group", "messages", "p50", "p95", "p99", "longest")),
    ),
    plots=(JobPlot("latency", "ms"), JobPlot("rate", "1/s")),
)
