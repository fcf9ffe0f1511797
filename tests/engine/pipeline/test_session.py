"""The session that all of the pipeline runs in."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from engine.pipeline import session as session_module
from engine.pipeline.session import SparkMissing, make_session
from engine.pipeline.shipping import archive

PROJECT = Path(__file__).resolve().parents[3]


def test_the_session_runs_on_this_machine_alone_and_says_nothing(spark):
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.driver.host") == conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert conf.get("spark.ui.enabled") == conf.get("spark.ui.showConsoleProgress") == "false"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.sparkContext.pythonExec == sys.executable


def test_the_session_knows_the_data_source(spark):
    with pytest.raises(Exception, match=r"option 'nameServer': is missing"):
        spark.read.format("rocketmq").option("topic", "T").load().collect()


def test_a_task_that_fails_once_does_not_end_the_job(spark):
    def fail_at_first(batches):
        from pyspark import TaskContext

        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("the worker did not start")
        yield from batches

    assert spark.range(3).mapInArrow(fail_at_first, "id long").count() == 3


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local-cluster[2,1,512]", "local-cluster[2,1,512]"),
        ("yarn", "yarn"),
    ],
)
def test_only_a_master_that_says_nothing_of_it_gets_retries(given, used):
    assert session_module._with_retries(given) == used


@pytest.mark.parametrize(
    ("master", "is_here"), [("local", True), ("local[*]", True), ("local-cluster[2,1,512]", True), ("yarn", False)]
)
def test_only_a_driver_for_this_machine_hides_on_loopback(master, is_here, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {})
    settings = session_module._settings(master, tmp_path)
    assert ("spark.driver.bindAddress" in settings) == is_here
    assert ("PYSPARK_PYTHON" in os.environ) == is_here


def test_a_python_without_pyspark_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(SparkMissing, match=r"pip install 'glassmq\[spark\]'"):
        make_session("none", "local", tmp_path)


def test_jobs_are_described_in_a_python_without_pyspark():
    program = """
import sys
sys.modules.update(dict.fromkeys(("pyspark", "pyarrow", "numpy", "pandas")))
from engine.pipeline.jobs.registry import JOB_NAMES, describe
import engine.pipeline.session, app.command_line
for name in JOB_NAMES:
    describe(name)
"""
    subprocess.run([sys.executable, "-c", program], cwd=PROJECT, check=True)


def test_an_archive_goes_with_the_process_that_made_it(tmp_path):
    program = "from engine.pipeline.shipping import archive; path = archive(); print(path, path.exists())"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith(str(tmp_path)) and done.stdout.endswith("True\n")
    assert list(tmp_path.iterdir()) == []


def test_the_same_sources_always_make_the_same_archive(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = archive(tmp_path / "a"), archive(tmp_path / "b")
    assert first.name == second.name and first.read_bytes() == second.read_bytes()
    names = zipfile.ZipFile(first).namelist()
    assert "engine/pipeline/source/data_source.py" in names and "engine/__init__.py" in names
    assert not any("__pycache__" in name for name in names)
