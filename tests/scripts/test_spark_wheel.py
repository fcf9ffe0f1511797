"""The wheel ``glassmq-spark``: one package, and all that a driver needs next to Spark's own."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser

import pytest
from packaging.requirements import Requirement

from scripts.spark_wheel import ROOT
from tests.engine.pipeline.test_on_a_cluster import make_executor_python
from tests.support.pipeline.submitted import assert_it_reads_streams_and_writes


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """As `make wheel` builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "scripts.spark_wheel", folder], cwd=ROOT, check=True)
    (built,) = folder.iterdir()
    return built


def test_the_wheel_has_one_package_and_needs_no_server_of_web_pages(wheel):
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    (metadata,) = [name for name in names if name.endswith("/METADATA")]
    assert {name.partition("/")[0] for name in names} == {"glassmq_spark", metadata.partition("/")[0]}
    fields = Parser().parsestr(archive.read(metadata).decode())
    needed = {Requirement(line).name for line in fields.get_all("Requires-Dist")}
    assert needed == {"fastavro", "lz4", "numpy", "pandas", "protobuf", "pyarrow", "pyspark", "zstandard"}
    assert fields["License-Expression"] == "Apache-2.0"


@pytest.mark.further  # test_cluster_page.py submits a program with the wheel, too
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_a_driver_with_the_wheel_reads_streams_and_writes_and_its_workers_need_nothing(
    spark_installed, wheel, tmp_path, master
):
    pythons = {}
    for role in ("driver", "worker"):
        (tmp_path / role).mkdir()
        pythons[role] = make_executor_python(tmp_path / role)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", tmp_path / "driver" / "packages", wheel], check=True)
    command = ["env", f"PYSPARK_SUBMIT_ARGS=--master {master} pyspark-shell", pythons["driver"]]
    assert_it_reads_streams_and_writes(command, "glassmq_spark", tmp_path, **pythons)
