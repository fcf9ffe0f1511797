"""The example of ``docs/pipeline.md`` for ``pyspark.pipelines`` runs as it stands there, at another address."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

from engine.pipeline.java import find_java_home
from engine.protocol.message.message import Message
from tests.support.live.live_server import LiveServer
from tests.support.pipeline.spark import REQUIRE_VARIABLE, import_or_skip

PROJECT = Path(__file__).resolve().parents[4]
PIPELINES = Path(pyspark.__file__).parent / "bin" / "spark-pipelines"


@pytest.fixture
def connect_installed(spark_installed):
    """What Spark Connect needs besides PySpark."""
    for module in ("grpc", "grpc_status", "google.rpc"):
        import_or_skip(module)


@pytest.mark.parametrize(("required", "outcome"), [("1", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_a_package_that_is_missing_next_to_spark_is_a_failure_in_ci(monkeypatch, required, outcome):
    monkeypatch.setenv(REQUIRE_VARIABLE, required)
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(outcome, match="needs grpc: "):
        import_or_skip("grpc")


# A server of Spark Connect, its client and Python workers start one after the other.
@pytest.mark.timeout(1_800)
def test_a_streaming_table_and_a_view_over_it_hold_what_the_topic_holds(connect_installed, tmp_path):
    section = (PROJECT / "docs" / "pipeline.md").read_text().split("### Declarative pipelines")[1].split("\n## ")[0]
    (spec,) = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (tmp_path / "transformations").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(spec.replace("/data/orders", f"{tmp_path}/storage"))
    with LiveServer(tmp_path / "data", page=False) as server:
        server.create_topic("Orders", 2)
        server.send(*[Message("Orders", b"%d" % number, tags="AB"[number % 2]) for number in range(10)])
        program = program.replace("127.0.0.1:9876", server.name_servers[0])
        (tmp_path / "transformations" / "orders.py").write_text(program)
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(PROJECT)}
        # SPARK_TESTING: the server of Spark Connect takes any free port.
        environment |= {"JAVA_HOME": str(find_java_home()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_TESTING": "1"}
        done = subprocess.run(
            [PIPELINES, "run"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1_500
        )
    # Not the exit code: PySpark 4.3 does not know the last message of its own server when Python workers ran.
    assert "Run is COMPLETED" in done.stdout, (done.stdout + done.stderr)[-4_000:]
    tables = tmp_path / "spark-warehouse"
    assert sorted(pq.read_table(tables / "orders")["body"].to_pylist()) == [b"%d" % number for number in range(10)]
    counts = pq.read_table(tables / "orders_by_tag").to_pylist()
    assert {row["tags"]: row["count"] for row in counts} == {"A": 5, "B": 5}
