"""A running job: its inputs and its duties.

A job is a function; everything it needs is in the :class:`JobRun`. Its logic is in functions from DataFrames (with the
columns of :mod:`engine.pipeline.source.decoding.schema`) to DataFrames, so that tests and other sources (Parquet) can
use them; the job itself reads, reports and writes.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.pipeline.errors import PipelineError
from engine.pipeline.jobs.arguments import listed_names
from engine.pipeline.jobs.report import JobReport
from engine.texts import Text

#: Spark's error when the Python process that plans a stream did not start within 10 s, for which it has no setting.
PLANNER_TOO_SLOW = "Python worker failed to connect back"
#: How often in a row a stream is started because of that; as often as a task (``spark.task.maxFailures``).
START_ATTEMPTS = 4

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(slots=True)
class JobRun:
    """One run of a job.

    :ivar spark: the session, with the source registered.
    :ivar arguments: parameter name -> checked value; every described parameter is there.
    :ivar cluster: options of ``format("rocketmq")`` that identify the cluster and the account: ``nameServer``, ACL
        keys, TLS.
    :ivar report: receives progress and results.
    :ivar stop: set when the user wants the job to end; a job without queries checks it between steps.
    :ivar watch: ``watch(query)`` waits until the query ends or the user stops the job (the query is then stopped), and
        raises the query's error. Its batches are reported meanwhile.
    :ivar batches: how many micro-batches of :meth:`follow` were finished.
    :ivar failure: the error of a micro-batch's function, if it was the job's own error.
    """

    spark: SparkSession
    arguments: Mapping[str, Any]
    cluster: Mapping[str, str]
    report: JobReport
    watch: Callable[[StreamingQuery], None]
    stop: threading.Event = field(default_factory=threading.Event)
    batches: int = 0
    failure: PipelineError | None = None

    def names(self, parameter: str) -> tuple[str, ...]:
        """Return the topics or groups that a parameter lists, without duplicates; empty if it is not given."""
        return listed_names(self.arguments[parameter])

    def read(self, **options: str) -> DataFrame:
        """Return a batch of messages: ``format("rocketmq")`` with the cluster's options and ``options``."""
        return self.spark.read.format("rocketmq").options(**{**self.cluster, **options}).load()

    def read_stream(self, **options: str) -> DataFrame:
        """Return the messages as a stream."""
        return self.spark.readStream.format("rocketmq").options(**{**self.cluster, **options}).load()

    @contextmanager
    def checkpoint(self) -> Iterator[str]:
        """Yield the checkpoint folder of a stream: the argument ``checkpoint_folder``, else a folder for this run
        only.
        """
        with folder_or_temporary(self.arguments["checkpoint_folder"], "checkpoint") as folder:
            yield str(folder)

    def follow(
        self,
        frame: DataFrame,
        function: Callable[[DataFrame, int], None],
        checkpoint: str,
        *,
        name: str | None = None,
        output_mode: str = "append",
    ) -> None:
        """Call ``function`` with each micro-batch and its number, until the query ends or the user stops the job.

        With the argument ``follow`` every ``trigger_ms``; otherwise only what is stored now.

        :param checkpoint: folder in which Spark records how far it has read.
        """
        writer = frame.writeStream.outputMode(output_mode).foreachBatch(partial(self._call, function))
        writer = writer.option("checkpointLocation", checkpoint)
        if name is not None:
            writer = writer.queryName(name)
        if self.arguments["follow"]:
            writer = writer.trigger(processingTime=f"{self.arguments['trigger_ms']} milliseconds")
        else:
            writer = writer.trigger(availableNow=True)
        attempt = 0
        while True:
            batches = self.batches
            try:
                self.watch(writer.start())
            except Exception as error:  # Spark's, whose class says less than its text
                # Failures before a query that made progress no longer count, as a stream may run for weeks.
                attempt = 1 if self.batches > batches else attempt + 1
                if attempt == START_ATTEMPTS or PLANNER_TOO_SLOW not in str(error):
                    raise
                self.report.note(Text("job.note.planner_too_slow", attempt=attempt))
            else:
                return

    def _call(self, function: Callable[[DataFrame, int], None], batch: DataFrame, batch_id: int) -> None:
        """Call ``function``. Spark passes on only the text of its error, so the job's own error, in both languages, is
        kept as :attr:`failure`.
        """
        try:
            function(batch, batch_id)
        except PipelineError as failure:
            self.failure = failure
            raise
        self.batches += 1


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Yield ``frame``, which Spark reads or computes only once until the block ends."""
    frame = frame.persist()
    try:
        yield frame
    finally:
        frame.unpersist()


#: What ``glassmq pipeline`` runs: it works until done or stopped, and raises :class:`~engine.pipeline.errors.JobFailed`
#: for problems that the user can solve.
Job = Callable[[JobRun], None]
#: Raises the refusal of arguments that do not go together, or whose kind does not say all that is allowed. It needs
#: neither Spark nor a cluster.
ArgumentCheck = Callable[[Mapping[str, Any]], None]


@contextmanager
def folder_or_temporary(given: str | Path | None, purpose: str) -> Iterator[str | Path]:
    """Yield ``given``, or a folder that is deleted at the end."""
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix=f"glassmq-{purpose}-", ignore_cleanup_errors=True) as made:
        yield made
