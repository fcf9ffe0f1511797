"""The source and the writer where executors are other processes, which have Spark's packages and no others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.live_server import LiveServer
from tests.support.spark import missing_for_spark, skip_without_spark

PROJECT = Path(__file__).resolve().parents[3]
#: What `pip install pyspark pyarrow numpy pandas` brings, as far as Spark's Python workers import it.
OF_SPARK = ("pyspark", "py4j", "pyarrow", "numpy", "pandas", "pytz", "dateutil", "tzdata", "six.py")


def make_executor_python(folder):
    """A Python that finds Spark's packages, but neither this project nor what else is installed."""
    packages = folder / "packages"
    packages.mkdir()
    installed = Path(sysconfig.get_path("purelib"))
    for path in installed.iterdir():
        if path.name in OF_SPARK or path.name.endswith(".libs"):
            (packages / path.name).symlink_to(path)
    python = folder / "python"
    # -S: no site-packages, so no path of an editable install either.
    python.write_text(f'#!/bin/sh\nexport PYTHONPATH="$PYTHONPATH:{packages}"\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    return python


@pytest.mark.long
def test_executors_read_and_write_with_the_code_that_was_shipped_to_them(tmp_path):
    if missing := missing_for_spark():
        skip_without_spark(missing)
    program = PROJECT / "tests" / "support" / "cluster_program.py"
    with LiveServer(tmp_path / "data", page=False) as server:
        server.create_topic("Shipped")
        work = tmp_path / "work"
        work.mkdir()
        command = [sys.executable, program, work, server.name_servers[0], "Shipped"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["PYSPARK_PYTHON"] = str(make_executor_python(tmp_path))
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-4_000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert [("glassmq_engine_" in found["engine"], found["orjson"]) for found in report["python"]] == [
        (True, False)
    ] * 2
    # The task that wrote failed once, half-way.
    assert report["bodies"] == list(range(100))
