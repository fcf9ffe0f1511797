"""The runner of jobs: creates the session, waits for the queries, and stops them quickly."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engine.pipeline.errors import PackageMissing, PipelineError
from engine.pipeline.jobs.arguments import Argument, listed_names, read_arguments
from engine.pipeline.jobs.description import JobDescription, ParameterKind
from engine.pipeline.jobs.failure import failed
from engine.pipeline.jobs.job import ArgumentCheck, Job, JobRun, folder_or_temporary
from engine.pipeline.jobs.registry import describe, load_job
from engine.pipeline.jobs.report import JobReport
from engine.protocol.names import TRACE_TOPIC

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from engine.pipeline.jobs.query_progress import QueryProgress

log = logging.getLogger("glassmq.pipeline")

#: How long a stopped job may continue; whatever runs after that ends with the process.
STOP_PATIENCE_S = 1.5
#: Timeout of Spark's own shutdown.
_SHUTDOWN_S = 0.7
_LAST_WORD_S = 2.0
_LOOK_S = 0.1

#: Keeps keys out of Spark's plans and logs, where the options of a source are written in full.
_REDACTION_CONF = {
    "spark.redaction.regex": "(?i)secret|password|token|access[._]?key",
    "spark.sql.redaction.options.regex": "(?i)url|secret|password|token|access[._]?key",
    "spark.ui.showConsoleProgress": "false",
}


def run_job(
    name: str,
    arguments: Mapping[str, object],
    cluster: Mapping[str, str],
    master: str,
    report: JobReport,
    stop: threading.Event,
    *,
    conf: Mapping[str, str] | None = None,
    work_folder: Path | None = None,
    session: SparkSession | None = None,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Run the job ``name`` until it is done or ``stop`` is set. Starts Spark, and ends it with its Java process.

    :param cluster: options of the source that identify the cluster and the account.
    :param master: such as ``local[2]``.
    :param conf: settings of Spark, which override our own.
    :param work_folder: folder for Spark's temporary files; None: one that is deleted at the end.
    :param session: an existing session, which is used and not stopped. ``conf`` is ignored then.
    :param started: called, in another thread, when Spark is ready and the job begins.

    Raises :class:`~engine.pipeline.errors.PipelineError` with one line that says what was wrong; the details are in the
    log. Raises nothing if the job was stopped.
    """
    description = describe(name)
    checked = read_arguments(description, arguments)
    job, check = _load(name)
    with folder_or_temporary(work_folder, "pipeline") as folder:
        run = _Run(description, job, check, checked, cluster, report, stop, started)
        if session is not None:
            run.work(lambda: session)
            return
        try:
            run.work(lambda: _start_spark(name, master, Path(folder), conf or {}))
        finally:
            _end_spark()


def _load(name: str) -> tuple[Job, ArgumentCheck]:
    try:
        return load_job(name)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] in ("pyspark", "pyarrow", "numpy", "pandas", "py4j"):
            raise PackageMissing(error.name) from error
        raise


def _start_spark(name: str, master: str, folder: Path, conf: Mapping[str, str]) -> SparkSession:
    from engine.pipeline.session import make_session

    return make_session(f"glassmq {name}", master, folder, {**_REDACTION_CONF, **conf})


@dataclass(slots=True)
class _Run:
    """A running job. It has a thread of its own, so that the waiting thread can also react to a stop."""

    description: JobDescription
    job: Job
    check: ArgumentCheck
    arguments: Mapping[str, Argument]
    cluster: Mapping[str, str]
    report: JobReport
    stop: threading.Event
    started: Callable[[], None]
    spark: SparkSession | None = None
    failure: BaseException | None = None

    def work(self, start_spark: Callable[[], SparkSession]) -> None:
        thread = threading.Thread(target=self._run, args=(start_spark,), name="job", daemon=True)
        thread.start()
        while thread.is_alive() and not self.stop.is_set():
            thread.join(_LOOK_S)
        if self.stop.is_set():
            self._end_work()
            thread.join(STOP_PATIENCE_S)
        if self.failure is not None and not self.stop.is_set():
            if isinstance(self.failure, PipelineError):
                raise self.failure
            log.error("the job failed", exc_info=self.failure)
            raise failed(self.failure) from self.failure

    def _run(self, start_spark: Callable[[], SparkSession]) -> None:
        from engine.pipeline.jobs.query_progress import QueryProgress, reported_tasks

        run: JobRun | None = None
        try:
            self.check(self.arguments)
            self._check_topics()
            spark = self.spark = start_spark()
            if self.stop.is_set():
                return
            self.started()
            queries = QueryProgress(self.report)
            spark.streams.addListener(queries)
            try:
                with reported_tasks(spark.sparkContext, self.report, queries):
                    watch = partial(self._watch, queries)
                    run = JobRun(spark, self.arguments, self.cluster, self.report, watch, self.stop)
                    self.job(run)
            finally:
                in_passing(lambda: spark.streams.removeListener(queries)).join(_LAST_WORD_S)
        except BaseException as failure:  # the waiting thread raises it
            self.failure = (run and run.failure) or failure

    def _check_topics(self) -> None:
        """Check that the cluster answers and has the topics before Spark starts: in a second, not in a minute."""
        from engine.pipeline.source.cluster.cluster import open_cluster

        for parameter in self.description.parameters:
            if parameter.kind is not ParameterKind.TOPICS or (parameter.unless and self.arguments[parameter.unless]):
                continue
            with open_cluster(self.cluster) as cluster:
                check = cluster.known if parameter.may_be_missing else cluster.queues
                # Without topics only the answer matters, so any topic will do.
                check(listed_names(self.arguments[parameter.name]) or (TRACE_TOPIC,))

    def _watch(self, queries: QueryProgress, query: StreamingQuery) -> None:
        """Wait for the job's query."""
        # It raises the query's error. It accepts fractions of a second, whatever its annotation says.
        while not query.awaitTermination(_LOOK_S):  # type: ignore[arg-type]
            if self.stop.is_set():
                query.stop()
                return
        queries.wait_until_ended(str(query.runId), _LAST_WORD_S)

    def _end_work(self) -> None:
        """Cancel what Spark runs; queries are stopped by the threads that watch them."""
        if self.spark is not None:
            in_passing(self.spark.sparkContext.cancelAllJobs)


def _end_spark() -> None:
    """Stop the session and the Java process of this process, if there are any, within a short timeout."""
    from pyspark import SparkContext

    # PySpark has no public name for the Java process that it started.
    gateway = SparkContext._gateway
    java: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if SparkContext._active_spark_context is not None:
        in_passing(SparkContext._active_spark_context.stop).join(_SHUTDOWN_S)
    if gateway is None or java is None:
        return
    in_passing(gateway.shutdown).join(_SHUTDOWN_S)
    SparkContext._gateway = SparkContext._jvm = None
    # Java exits when the other end of its standard input is closed.
    if java.stdin is not None:
        java.stdin.close()
    try:
        java.wait(_SHUTDOWN_S)
    except subprocess.TimeoutExpired:
        java.kill()
        java.wait()


def in_passing(work: Callable[[], object]) -> threading.Thread:
    """Run ``work`` in a thread that need not be waited for; its errors are ignored."""

    def attempt() -> None:
        with contextlib.suppress(Exception):
            work()

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    return thread
