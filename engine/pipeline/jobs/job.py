"""A job while it runs: what it is given and what it must do.

A job is a function; everything it has is in the :class:`JobRun`. It keeps its logic in functions from DataFrames (with
the columns of :mod:`engine.pipeline.source.decoding.schema`) to DataFrames, so that tests and other sources (Parquet)
can use them, and does reading, reporting and writing itself.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.pipeline.errors import PipelineError
from engine.pipeline.jobs.report import JobReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(slots=True)
class JobRun:
    """One run of a job.

    :ivar spark: the session, with the source registered.
    :ivar arguments: parameter name -> checked value; every described parameter is there.
    :ivar cluster: options of ``format("rocketmq")`` that say which cluster and who asks: ``nameServer``, ACL keys, TLS.
    :ivar report: where to tell.
    :ivar stop: set when the user wants the job to end; a job without queries looks at it between steps.
    :ivar watch: ``watch(query)`` waits until the query ends or the user stops the job (the query is then stopped), and
        raises what the query failed with. Its batches are reported meanwhile.
    :ivar failure: what the function of a micro-batch failed with, if it was the job's own error.
    """

    spark: SparkSession
    arguments: Mapping[str, Any]
    cluster: Mapping[str, str]
    report: JobReport
    watch: Callable[[StreamingQuery], None]
    stop: threading.Event = field(default_factory=threading.Event)
    failure: PipelineError | None = None

    def names(self, parameter: str) -> tuple[str, ...]:
        """The topics or groups that a parameter lists, each once; none if it is not given."""
        names = (name.strip() for name in (self.arguments[parameter] or "").split(","))
        return tuple(dict.fromkeys(name for name in names if name))

    def read(self, **options: str) -> DataFrame:
        """A batch of messages: ``format("rocketmq")`` with the cluster's options and ``options``."""
        return self.spark.read.format("rocketmq").options(**{**self.cluster, **options}).load()

    def read_stream(self, **options: str) -> DataFrame:
        """The same, as a stream."""
        return self.spark.readStream.format("rocketmq").options(**{**self.cluster, **options}).load()

    @contextmanager
    def checkpoint(self) -> Iterator[str]:
        """Where a stream keeps what it knows: the argument ``checkpoint_folder``, else a folder for this run alone."""
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
        """Give each micro-batch and its number to ``function``, until the query ends or the user stops the job.

        With the argument ``follow`` every ``trigger_ms``; without it what is there now.

        :param checkpoint: where Spark notes how far it has read.
        """
        writer = frame.writeStream.outputMode(output_mode).foreachBatch(self._each_batch(function))
        writer = writer.option("checkpointLocation", checkpoint)
        if name is not None:
            writer = writer.queryName(name)
        if self.arguments["follow"]:
            writer = writer.trigger(processingTime=f"{self.arguments['trigger_ms']} milliseconds")
        else:
            writer = writer.trigger(availableNow=True)
        self.watch(writer.start())

    def _each_batch(self, function: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        """Spark passes on nothing but the text of what a function raises; what the job itself has to say, in both
        languages, is kept as :attr:`failure`.
        """

        def call(batch: DataFrame, batch_id: int) -> None:
            try:
                function(batch, batch_id)
            except PipelineError as failure:
                self.failure = failure
                raise

        return call


#: What ``glassmq pipeline`` runs: it works until done or stopped, and raises
#: :class:`~engine.pipeline.errors.JobFailed` for what the user can mend.
Job = Callable[[JobRun], None]


@contextmanager
def folder_or_temporary(given: str | Path | None, purpose: str) -> Iterator[str | Path]:
    """``given``, or a folder that is deleted in the end."""
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix=f"glassmq-{purpose}-", ignore_cleanup_errors=True) as made:
        yield made
