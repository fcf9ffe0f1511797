"""``format("rocketmq")`` in a Spark session of the user's own, by one call: :func:`register`."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.pipeline.errors import INSTALL_HINT, PipelineError
from engine.pipeline.shipping import ship
from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Packages that a worker needs for the source, apart from the source itself.
_OF_WORKERS = ("pyarrow", "numpy", "pandas")
#: Spark's default refuses a source that takes filters.
_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
#: Checkpoints of streams without checksums of their own.
CHECKPOINT_CONF = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}


class WorkerUnfit(PipelineError):
    """The Python of Spark's workers cannot run the data source."""


def register(spark: SparkSession, *, jobs: bool = False, quick_checkpoints: bool = False) -> None:
    """Make ``format("rocketmq")`` available in this session, on its driver, its stream planners and its executors.

    A small job checks the workers' Python. Raises :class:`WorkerUnfit`.

    :param jobs: whether the executors also get the modules of the jobs.
    :param quick_checkpoints: whether streams write their checkpoints, and the driver its local files, without
        checksums: a micro-batch takes a third less time. A later call does not turn it off.
    """
    if quick_checkpoints:
        for name, value in CHECKPOINT_CONF.items():
            spark.conf.set(name, value)
        leave_out_local_checksums(spark)
    ship(spark, jobs=jobs)
    _check_workers(spark)
    register_here(spark)


def register_here(spark: SparkSession) -> None:
    """Make ``format("rocketmq")`` available where the workers have this package and what it needs."""
    from engine.pipeline.source.data_source import FilteringDataSource

    spark.conf.set(_PUSHDOWN, "true")
    spark.dataSource.register(FilteringDataSource)


def leave_out_local_checksums(spark: SparkSession) -> None:
    """Write local files without a second file for their checksum.

    Hadoop starts the program ``chmod`` for every file that it creates here, so a micro-batch, which creates two in its
    checkpoint, started four; that was half of its time for the checkpoint. The existing setting, another file system
    for ``file:``, breaks code that requests the local one from Hadoop by name.
    """
    java, context = spark._jvm, spark.sparkContext._jsc
    assert java is not None and context is not None, "the session runs in this process"
    java.org.apache.hadoop.fs.FileSystem.getLocal(context.hadoopConfiguration()).setWriteChecksum(False)


def _check_workers(spark: SparkSession) -> None:
    """Check the Python of one worker, by a job that needs no package but PySpark there. Spark itself refuses another
    version of Python than the driver's.
    """
    if missing := spark.sparkContext.parallelize([0], 1).mapPartitions(_missing_packages).collect():
        raise WorkerUnfit(Text("job.error.worker_packages", packages=", ".join(missing), hint=INSTALL_HINT))


def _missing_packages(_: Iterable[int]) -> Iterable[str]:
    """Return the packages that this Python lacks."""
    return [name for name in _OF_WORKERS if importlib.util.find_spec(name) is None]
