"""Spark for the tests: one session per process, small and quiet. A second JVM costs ten seconds and half a gigabyte."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from engine.pipeline.java import JavaMissing, find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Set in CI: a missing Spark is a failure there, not a skipped test.
REQUIRE_VARIABLE = "GLASSMQ_REQUIRE_SPARK"
#: Tests run small jobs: a compiler that gives up early makes them a fifth faster, and 2 cores have room for one GC.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@functools.cache
def missing_for_spark() -> str | None:
    """What keeps Spark from running here, in one line; None when nothing does."""
    if importlib.util.find_spec("pyspark") is None:
        return "needs PySpark (pip install 'glassmq[spark]')"
    try:
        find_java_home()
    except JavaMissing as error:
        return str(error)
    return None


def skip_without_spark(missing: str) -> NoReturn:
    """Skip the test by name; in CI it fails."""
    if os.environ.get(REQUIRE_VARIABLE):
        pytest.fail(f"{REQUIRE_VARIABLE} is set, but Spark {missing}")
    pytest.skip(missing)


def import_or_skip(name: str) -> Any:
    """Return a module of a package next to PySpark; skip the test if it is missing, or in CI fail."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        skip_without_spark(f"needs {name}: {error}")


@functools.cache
def _work_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="glassmq-spark-"))


@functools.cache
def spark_session() -> SparkSession:
    """The one session of this process, with the data source ``rocketmq``."""
    from engine.pipeline.session import make_session

    conf = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        # Else PySpark notes for its errors where each function of a column was called, by several requests to Java,
        # which takes 0.24 ms of Python instead of 0.05.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    return make_session("tests", "local[2]", _work_folder(), conf)


@pytest.fixture(scope="session")
def spark_installed() -> None:
    """For tests that start Spark themselves, in processes of their own."""
    if missing := missing_for_spark():
        skip_without_spark(missing)


@pytest.fixture(scope="session")
def spark(spark_installed: None) -> Iterator[SparkSession]:
    """The one session of this process: ``local[2]``, with the data source ``rocketmq``."""
    session = spark_session()
    yield session
    session.stop()
    shutil.rmtree(_work_folder(), ignore_errors=True)
