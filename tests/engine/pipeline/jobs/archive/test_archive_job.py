"""The archive of a topic on a running broker, by a process that is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter

import pyarrow.parquet as pq
import pytest

from engine.pipeline.jobs.runner import run_job
from tests.support.live.live_server import LiveServer, message
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.waiting import wait_until

#: Only a hang takes this long; a start of Spark on an idle machine takes six seconds.
PATIENCE_S = 600
MESSAGES = 600
KEYS = 500


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("broker"), page=False) as server:
        server.send(*(message("Orders", f"{n % KEYS:04d}", keys=f"order-{n % KEYS}") for n in range(MESSAGES)))
        yield server


def archive(spark, server, folder, **arguments):
    report = MemoryReport()
    arguments = {"topics": "Orders", "folder": str(folder), **arguments}
    run_job("archive", arguments, {"nameServer": server.name_servers[0]}, "", report, threading.Event(), session=spark)
    return report


def kill_in_the_middle(server, folder):
    """Start the job in a process of its own, and kill it with its Java when it has archived a part."""
    command = [
        sys.executable,
        "-m",
        "app.command_line",
        "pipeline",
        "archive",
        "--name-server",
        server.name_servers[0],
        "--topics",
        "Orders",
        "--folder",
        str(folder),
        "--max-messages-per-batch",
        "200",
    ]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    commits = folder / "_commits"

    def has_archived():
        assert process.poll() is None, process.stderr.read().decode()
        return list(commits.glob("0*.json"))

    wait_until(has_archived, "the first commit of the archive", PATIENCE_S)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    newest = max(commits.glob("0*.json"))
    return json.loads(newest.read_text())["version"]


def test_a_killed_archive_goes_on_where_it_was(spark, server, tmp_path):
    folder = tmp_path / "archive"
    killed_at = kill_in_the_middle(server, folder)
    report = archive(spark, server, folder, max_messages_per_batch=300)

    keys = Counter(key for row in pq.read_table(folder).to_pylist() for key in row["keys"])
    assert keys == Counter(f"order-{n}" for n in range(KEYS)), "every key, and each once"
    (day,) = report.tables["archive"]
    assert day[0] == "Orders" and day[2:5] == [KEYS, MESSAGES - KEYS, 0]
    assert killed_at < max(versions(folder)), "it was killed in the middle"
    assert spark.read.parquet(str(folder)).where("topic = 'Orders'").count() == KEYS, "Spark's readers see the same"

    report = archive(spark, server, folder)
    assert report.notes[-1]["en"] == "there was nothing new to archive"


def test_small_files_are_merged_and_their_keys_are_still_known(spark, server, tmp_path):
    folder = tmp_path / "archive"
    report = archive(spark, server, folder, max_messages_per_batch=200, compact_files=2)
    assert len(versions(folder)) == 1
    assert report.tables["archive"][0][2:6] == [KEYS, MESSAGES - KEYS, 0, 1]
    archive(spark, server, folder, checkpoint_folder=str(tmp_path / "another"), compact_files=2)
    assert Counter(key for row in pq.read_table(folder).to_pylist() for key in row["keys"]).total() == KEYS


def versions(folder):
    """The commits that the files in the archive came with."""
    return [int(path.name.split("-")[1]) for path in folder.glob("topic=*/day=*/*.parquet")]
