"""Description of the archive job."""

from __future__ import annotations

from dataclasses import replace

from engine.pipeline.jobs.description import (
    DAY_MS,
    FOLLOW,
    STARTING_OFFSETS,
    TOPICS,
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
    name="archive",
    title=Text("job.archive.title"),
    about=Text("job.archive.about"),
    parameters=(
        TOPICS,
        JobParameter("folder", ParameterKind.FOLDER, required=True),
        JobParameter("key", ParameterKind.TEXT, default="keys"),
        JobParameter("dedup_window_ms", ParameterKind.DURATION, default=0, minimum=0, maximum=30 * DAY_MS),
        replace(STARTING_OFFSETS, text=Text("job.archive.starting_offsets", first=STARTING_OFFSETS.help)),
        FOLLOW,
        replace(trigger_ms(60_000), text=Text("job.archive.trigger_ms")),
        messages_max("max_messages_per_batch", 500_000, Text("job.archive.max_messages_per_batch")),
        messages_max("max_messages_per_file", 500_000),
        JobParameter("compact_files", ParameterKind.INTEGER, default=0, minimum=0, maximum=500),
        JobParameter("checkpoint_folder", ParameterKind.FOLDER, text=Text("job.archive.checkpoint_folder")),
    ),
    tables=(
        JobTable(
            "archive",
            columns("topic", "day", "messages", "copies", "changed", "files", "bytes"),
            bad_column="changed",
        ),
    ),
    plots=(
        JobPlot("rate", "1/s", series_texts=cell_texts("messages"), text=Text("job.archive.plot.rate")),
        JobPlot("copies", "1", series_texts=cell_texts("copies", "changed")),
    ),
)
