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
_OF_WORKERS = ("pyarrow", "numpy")
#: Spark's default refuses a source that takes filters.
_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


class WorkerUnfit(PipelineError):
    """The Python of Spark's workers cannot run the data source."""


def register(spark: SparkSession, *, jobs: bool = False) -> None:
    """Make ``format("rocketmq")`` available in this session, on its driver, its stream planners and its executors.

    A small job checks the workers' Python. Raises :class:`WorkerUnfit`.

    :param jobs: whether the executors also get the modules of the jobs.
    """
    ship(spark, jobs=jobs)
    _check_workers(spark)
    register_here(spark)


def register_here(spark: SparkSession) -> None:
    """Make ``format("rocketmq")`` available where the workers have this package and what it needs."""
    from engine.pipeline.source.data_source import FilteringDataSource

    spark.conf.set(_PUSHDOWN, "true")
    spark.dataSource.register(FilteringDataSource)


def _check_workers(spark: SparkSession) -> None:
    """Check the Python of one worker, by a job that needs no package but PySpark there. Spark itself refuses another
    version of Python than the driver's.
    """
    for missing in spark.sparkContext.parallelize([0], 1).mapPartitions(_missing_packages).collect():
        raise WorkerUnfit(Text("job.error.worker_package", package=missing, hint=INSTALL_HINT))


def _missing_packages(_: Iterable[int]) -> Iterable[str]:
    """Return the packages that this Python lacks."""
    return [name for name in _OF_WORKERS if importlib.util.find_spec(name) is None]
