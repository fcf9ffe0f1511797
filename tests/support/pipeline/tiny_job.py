"""A job for tests that needs no broker, and ``glassmq pipeline`` with it.

``python -m tests.support.pipeline.tiny_job tiny`` runs it.
"""

from __future__ import annotations

import sys
import types

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs import registry
from engine.pipeline.jobs.description import (
    CHECKPOINT_FOLDER,
    ColumnKind,
    JobDescription,
    JobParameter,
    JobPlot,
    JobTable,
    ParameterKind,
    TableColumn,
    trigger_ms,
)
from engine.pipeline.jobs.job import JobRun
from engine.texts import Text


def both(text):
    return {"en": text, "zh": f"中文{text}"}


#: The first three are for the true job, all but "crash" for its stand-in without Spark, ``fake_job.py``.
WAYS = ("batch", "fail", "crash", "silent", "garbage", "long-line", "flood", "deaf", "finish", "break")

WORDS = {"lost in transit": {"en": "lost in transit", "zh": "途中丢失"}}

DESCRIPTION = JobDescription(
    name="tiny",
    title=both("Tiny"),
    about=both("Counts numbers."),
    parameters=(
        JobParameter("topic", ParameterKind.TOPIC, text=both("A topic."), default="orders"),
        JobParameter("group", ParameterKind.GROUP, text=both("A group.")),
        JobParameter(
            "numbers", ParameterKind.INTEGER, text=both("How many."), default=1_000, minimum=1, maximum=10**12
        ),
        JobParameter("pause_ms", ParameterKind.DURATION, text=both("How long."), default=100, minimum=10),
        JobParameter("way", ParameterKind.CHOICE, text=both("How."), default="batch", choices=WAYS),
        JobParameter("output", ParameterKind.FOLDER, text=both("Where to.")),
        JobParameter("follow", ParameterKind.SWITCH, text=both("Go on."), default=False),
        trigger_ms(300),
        CHECKPOINT_FOLDER,
    ),
    tables=(
        JobTable(
            "counts",
            (
                TableColumn("kind", ColumnKind.TEXT, WORDS, text=both("Kind")),
                TableColumn("n", ColumnKind.INTEGER, text=both("Number")),
                TableColumn("share", ColumnKind.SHARE, text=both("Share")),
                TableColumn("lost", ColumnKind.INTEGER, text=both("Lost")),
            ),
            bad_column="lost",
            text=both("Counts"),
        ),
    ),
    plots=(JobPlot("speed", "rows/s", series_texts={"all": {"en": "all", "zh": "全部"}}, text=both("Speed")),),
)


def tiny(run: JobRun) -> None:
    """Counts the numbers of a range, or of Spark's own stream of numbers."""
    if run.arguments["way"] == "fail" and not run.arguments["follow"]:
        raise JobFailed("the job was told to fail")
    if run.arguments["way"] == "crash":
        run.spark.range(10).selectExpr("raise_error('no such thing')").collect()
    run.report.note(both("Counting."))
    if run.arguments["follow"]:
        _follow(run)
        return
    numbers = int(run.arguments["numbers"])
    count = run.spark.range(0, numbers, 1, 20).selectExpr("sum(id % 7)").collect()[0][0]
    run.report.table("counts", [["sevens", count, 0.5, 0], ["lost", 1, 0.25, 1]])
    run.report.point("speed", "all", 1, float(numbers))
    run.report.offsets({"orders": {"broker-a:0": 5}}, {"orders": {"broker-a:0": 9}})
    run.report.progress(numbers, numbers, "messages")


def _follow(run: JobRun) -> None:
    def count(batch, number):
        if run.arguments["way"] == "fail":
            raise JobFailed(Text("job.error.broker_down", broker="tiny"))
        run.report.table("counts", [["rows", batch.count(), 1.0, 0]])

    with run.checkpoint() as folder:
        run.follow(run.spark.readStream.format("rate").option("rowsPerSecond", 50).load(), count, folder)


def register() -> None:
    """Put the job into the registry of this process."""
    if DESCRIPTION.name in registry.JOB_NAMES:
        return
    registry.JOB_NAMES = (*registry.JOB_NAMES, DESCRIPTION.name)
    package = f"engine.pipeline.jobs.{DESCRIPTION.name}"
    for part, name, value in (("description", "DESCRIPTION", DESCRIPTION), ("job", "JOB", tiny)):
        module = types.ModuleType(f"{package}.{part}")
        setattr(module, name, value)
        sys.modules[module.__name__] = module
    sys.modules[package] = types.ModuleType(package)


if __name__ == "__main__":
    register()
    from app.commands.pipeline import command

    command(prog_name="glassmq pipeline")
