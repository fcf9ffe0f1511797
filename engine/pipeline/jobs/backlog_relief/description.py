"""Description of backlog relief."""

from __future__ import annotations

from engine.pipeline.jobs.description import (
    NUMBER_MAX,
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
from engine.texts import Text

DESCRIPTION = JobDescription(
    name="backlog-relief",
    title=Text("job.backlog-relief.title"),
    about=Text("job.backlog-relief.about"),
    parameters=(
        JobParameter("mode", ParameterKind.CHOICE, default="move", choices=("move", "send")),
        JobParameter("topics", ParameterKind.TOPICS, required=True, text=Text("job.backlog-relief.topics")),
        JobParameter("group", ParameterKind.GROUP, required=True),
        JobParameter("low_priority", ParameterKind.TEXT, required=True),
        JobParameter("folder", ParameterKind.FOLDER, required=True, text=Text("job.backlog-relief.folder")),
        JobParameter("relieve_above", ParameterKind.INTEGER, default=10_000, minimum=0, maximum=NUMBER_MAX),
        JobParameter("until_below", ParameterKind.INTEGER, default=1_000, minimum=0, maximum=NUMBER_MAX),
        JobParameter("left_to_group", ParameterKind.INTEGER, default=1_000, minimum=0, maximum=NUMBER_MAX),
        messages_max("max_messages_per_batch", 500_000, Text("job.backlog-relief.max_messages_per_batch")),
        JobParameter("send_to", ParameterKind.TOPIC),
        JobParameter("messages_per_second", ParameterKind.INTEGER, default=0, minimum=0, maximum=1_000_000),
        JobParameter("max_message_bytes", ParameterKind.INTEGER, default=4_194_304, minimum=1_024, maximum=1 << 30),
        JobParameter("follow", ParameterKind.SWITCH, default=False, text=Text("job.backlog-relief.follow")),
        trigger_ms(5_000),
    ),
    tables=(
        JobTable(
            "moved",
            (
                *columns("topic", "queue", "group_at"),
                *columns("from", "to", job="backlog-relief"),
                *columns("moved", "kept"),
            ),
        ),
        JobTable("sent", columns("batch", "messages", "sent", "not_sent", "left")),
        JobTable(
            "not_sent",
            columns("message", "why", "bytes", cells={"why": cell_texts("body too long", "properties too long")}),
            bad_column="bytes",
        ),
    ),
    plots=(
        JobPlot("backlog", "1", series_texts=cell_texts("with relief", "without")),
        JobPlot("waiting", "1", series_texts=cell_texts("messages")),
    ),
)
