"""One call makes a session ready, wherever its workers run."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.worker_util import check_python_version

from engine.pipeline import registration
from engine.pipeline.registration import WorkerUnfit, register
from engine.pipeline.shipping import ship
from tests.engine.pipeline.test_on_a_cluster import make_executor_python
from tests.support.pipeline.submitted import assert_it_reads_streams_and_writes

PROJECT = Path(__file__).resolve().parents[3]
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """What the documented command writes."""
    path = tmp_path_factory.mktemp("archive") / "engine.zip"
    subprocess.run([sys.executable, "-m", "engine.pipeline.shipping", path], cwd=PROJECT, check=True)
    return path


def test_the_archive_has_what_the_source_imports_and_no_broker_or_lab(archive):
    names = zipfile.ZipFile(archive).namelist()
    packages = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert packages <= {"acl", "fields", "pipeline", "protocol", "runtime", "texts"}
    assert archive.stat().st_size < 400_000
    program = "import sys; sys.path[:0] = sys.argv[1:]; import engine.pipeline.registration as r; print(r.__file__)"
    modules = [name.removesuffix(".py").replace("/", ".") for name in names if name.endswith(".py")]
    program += "".join(f"; import {module.removesuffix('.__init__')}" for module in modules)
    done = subprocess.run(
        [sys.executable, "-c", program, archive], cwd=archive.parent, check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith(str(archive))


class SparkContextDouble:
    """Refuses what the context of a cluster refuses: two files of one name."""

    def __init__(self):
        self.environment, self.paths = {}, []

    def addPyFile(self, path):  # noqa: N802 - Spark's name
        assert Path(path).name not in [Path(known).name for known in self.paths], "registered with a different path"
        self.paths.append(path)


@pytest.mark.parametrize(
    ("calls", "sent"), [([False] * 3, 1), ([True, False, True], 1), ([False, True, True, False], 2)]
)
def test_modules_are_sent_once_and_those_of_the_jobs_stay(calls, sent):
    sessions: list[Any] = [SimpleNamespace(sparkContext=SparkContextDouble()) for _ in range(2)]
    for session in sessions:
        for jobs in calls:
            ship(session, jobs=jobs)
        context = session.sparkContext
        assert len(context.paths) == sent
        assert context.environment["PYTHONPATH"].split(os.pathsep) == context.paths[::-1]
        has_jobs = any("/jobs/" in name for name in zipfile.ZipFile(context.paths[-1]).namelist())
        assert has_jobs == any(calls)


@pytest.mark.parametrize("master", ["local[2]", pytest.param("local-cluster[2,1,512]", marks=pytest.mark.further)])
def test_a_submitted_program_reads_streams_and_writes_with_the_archive_alone(
    spark_installed, archive, tmp_path, master
):
    """Neither the driver, nor the planner of its streams, nor the executors have anything else of this project."""
    python = make_executor_python(tmp_path)
    submit = [SUBMIT, "--master", master, "--conf", "spark.executor.memory=512m", "--py-files", archive]
    package = "engine.pipeline.registration"
    assert_it_reads_streams_and_writes(submit, package, tmp_path, driver=python, worker=python)


def test_packages_that_workers_lack_are_named(spark, monkeypatch):
    monkeypatch.setattr(registration, "_missing_packages", lambda _: ["pyarrow", "numpy"])
    with pytest.raises(WorkerUnfit, match=r"missing .*: pyarrow, numpy; pip install"):
        register(spark)


def test_the_packages_that_a_python_lacks_are_found(monkeypatch):
    assert list(registration._missing_packages([0])) == []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in ("numpy", "pandas") else name)
    assert list(registration._missing_packages([0])) == ["numpy", "pandas"]


def test_the_packages_of_workers_are_those_that_the_document_installs():
    page = (PROJECT / "docs" / "pipeline.md").read_text()
    (line,) = re.findall(r"^\$ environment/bin/pip install ('.*)$", page, re.MULTILINE)
    assert sorted(re.findall(r"'(\w+)", line)) == sorted(registration._OF_WORKERS)


def test_spark_itself_refuses_workers_of_another_python():
    """So the source need not."""
    with pytest.raises(PySparkRuntimeError, match=r"(?s)PYTHON_VERSION_MISMATCH.*PYSPARK_PYTHON"):
        check_python_version("3.9")


def test_the_documents_name_the_call():
    page = (PROJECT / "docs" / "pipeline.md").read_text()
    (line,) = re.findall(r"^from engine\.pipeline\.registration import \w+$", page, re.MULTILINE)
    (imported,) = ast.parse(line).body
    assert hasattr(registration, imported.names[0].name)
