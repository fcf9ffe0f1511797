"""A Spark session that is set up for this pipeline: one machine (``local[N]``) or a cluster.

The settings suit the small, frequent batches of a broker; ``docs/pipeline.md`` gives the measured effect of each.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.pipeline.errors import INSTALL_HINT, PipelineError
from engine.pipeline.java import use_java
from engine.pipeline.registration import CHECKPOINT_CONF, leave_out_local_checksums, register, register_here
from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Settings for short micro-batches: Python workers that persist and are reached without TCP, checkpoints without
#: checksums. The writer also takes a persistent worker as a sign that a micro-batch is not a repetition. Nothing is
#: printed into a job's output, and no log is written.
_CONF = {
    "spark.python.worker.reuse": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    **CHECKPOINT_CONF,
    # For programs of users: ``transformWithState`` needs it. No job does.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
}
#: A driver on this machine only. Without the addresses Spark resolves this machine's host name, which often fails in
#: containers; a shuffle partition costs milliseconds even when it is empty, and Spark's 200 are for clusters.
_LOCAL_CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    # A query that is stopped while Python has its rows fails with the text of a long traceback. Spark searches it with
    # a regular expression that needs a deep stack, and overflows Java's default one.
    "spark.driver.extraJavaOptions": "-Xss16m",
    "spark.sql.shuffle.partitions": "2",
}
#: Masters whose tasks run in threads of the driver: their Python workers have the packages of this Python, if it is
#: theirs.
_IN_ONE_PROCESS = re.compile(r"local(\[.*\])?")
#: Those of them that do not set how often a task may fail.
_WITHOUT_RETRIES = re.compile(r"local(?:\[(\d+|\*)\])?")
#: Spark's default (``spark.task.maxFailures``), which does not apply on one machine, where it would be 1. A Python
#: worker that a busy machine does not start within Spark's 10 s should not fail a job.
_TASK_ATTEMPTS = 4


class SparkMissing(PipelineError):
    """This Python has no PySpark."""

    def __init__(self) -> None:
        super().__init__(Text("job.error.no_spark", hint=INSTALL_HINT))


def make_session(name: str, master: str, work_folder: Path, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark and register ``format("rocketmq")``. One session per process.

    Executors that are separate processes get this package's code; Python, PySpark, PyArrow, NumPy and pandas must be
    installed there. Raises :class:`SparkMissing`, :class:`~engine.pipeline.java.JavaMissing`,
    :class:`~engine.pipeline.registration.WorkerUnfit`.

    :param master: such as ``local[2]``, ``local-cluster[2,1,1024]``, ``spark://host:7077``. Tasks of ``local[N]`` are
        tried four times, unless ``local[N,F]`` says something else.
    :param work_folder: for Spark's temporary files and its warehouse.
    :param conf: settings that override those here.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkMissing from error
    use_java()
    builder = SparkSession.builder.appName(name).master(_with_retries(master))
    session = builder.config(map={**_settings(master, work_folder), **(conf or {})}).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    leave_out_local_checksums(session)
    if _IN_ONE_PROCESS.fullmatch(master) and os.environ["PYSPARK_PYTHON"] == sys.executable:
        register_here(session)
    else:
        register(session, jobs=True)
    return session


def _with_retries(master: str) -> str:
    """Return ``local[N]`` with as many tries per task as a cluster has; any other master unchanged."""
    found = _WITHOUT_RETRIES.fullmatch(master)
    return f"local[{found[1] or 1},{_TASK_ATTEMPTS}]" if found else master


def _settings(master: str, work_folder: Path) -> dict[str, str]:
    """Return all settings but those of the caller; sets environment variables for what has no setting."""
    settings = {"spark.sql.warehouse.dir": str(work_folder / "warehouse"), **_CONF}
    if master.startswith("local"):
        # Tasks run this very Python; otherwise they take the first python3 of the PATH. On other machines the path may
        # be different, so the user sets it there.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {"spark.local.dir": str(work_folder / "local"), **_LOCAL_CONF}
    return settings
