"""A job while it runs: what it is given and what it must do.

A job is a class without state of its own; everything is in the :class:`JobRun`. It keeps its logic in functions from
DataFrames (with the columns of :mod:`engine.pipeline.source.decoding.schema`) to DataFrames, so that tests and other
sources (Parquet) can use them, and does reading, reporting and writing in :meth:`Job.run`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

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
    :ivar failure: what a function of :meth:`each_batch` failed with, if it was the job's own error.
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

    def each_batch(self, function: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        """``function`` as ``foreachBatch`` shall call it.

        Spark passes on nothing but the text of what it raises; what the job itself has to say, in both languages, is
        kept as :attr:`failure`.
        """

        def call(batch: DataFrame, batch_id: int) -> None:
            try:
                function(batch, batch_id)
            except PipelineError as failure:
                self.failure = failure
                raise

        return call


class Job(Protocol):
    """Something that ``glassmq pipeline`` runs."""

    def run(self, run: JobRun) -> None:
        """Work until done or stopped. Raises :class:`~engine.pipeline.errors.JobFailed` for what the user can mend."""
        ...
