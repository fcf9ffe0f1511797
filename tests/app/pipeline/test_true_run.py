"""Jobs on a true Spark, started by a true server: they read the broker, and are gone when they or it are stopped."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from app.pipeline.child_process import kill_session, session_members
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.message.message import Message
from tests.support.live.glass_process import GlassProcess
from tests.support.live.live_server import LiveServer
from tests.support.pipeline.spark import QUICK_JVM
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.usefixtures("spark_installed"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="sessions are looked through by way of /proc"),
]
#: Spark starts in seconds; on a machine on which many things run at once, and giving way to all of them, in minutes.
PATIENCE_S = 400


def ask(address, path, body=None):
    request = urllib.request.Request(
        f"http://{address}{path}",
        None if body is None else json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from error


def session_of(log_file):
    """The session of the run with that log: its first process has the log's name in its command."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"--log-file={log_file}".encode() in entry.read_bytes():
                return os.getsid(int(entry.parent.name))
        except OSError:
            continue
    return None


def test_a_run_reads_the_broker_shows_its_offsets_and_is_gone_soon_after_a_stop(tmp_path, monkeypatch):
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK_JVM)
    with LiveServer(tmp_path) as live:
        live.send(*(Message("orders", b"hello", tags="new") for _ in range(40)))
        pipeline = live.server.page.get().pipeline
        pipeline.settings = replace(pipeline.settings, niceness=0)
        address = live.server.page_address
        operation = {"job": "traffic", "arguments": {"topics": "orders", "follow": True}}
        run_id = ask(address, "/api/pipeline/runs", operation)["id"]

        def state():
            run = ask(address, f"/api/pipeline/runs/{run_id}")
            assert run["phase"] in ("starting", "running"), run
            return run

        run = wait_until(
            lambda: state() if sum(state()["reached"].get("orders", {}).get("broker-a", {}).values()) == 40 else None,
            "40 messages that the run has read",
            PATIENCE_S,
        )
        assert run["tables"] and run["batches"]
        assert sum(one["rows"] for one in run["batches"]) == 40
        session = pipeline.process_id(run_id)
        assert len(session_members(session)) >= 2  # Python and Java at least
        ask(address, f"/api/pipeline/runs/{run_id}/stop", {})
        run = wait_until(
            lambda: (one := ask(address, f"/api/pipeline/runs/{run_id}"))["ended_us"] and one,
            "the end of the stopped run",
            PATIENCE_S,
        )
        assert run["phase"] == "stopped"
        wait_until(lambda: session_members(session) == [], "the end of the processes of the run", PATIENCE_S)


def test_a_secret_is_in_no_line_that_a_job_tells_and_not_in_its_log(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "plain_acl.yml").write_text(
        "accounts:\n  - {accessKey: shop-key-7391, secretKey: another-one, defaultTopicPerm: PUB|SUB}\n"
    )
    keys = {"GLASSMQ_ACCESS_KEY": "shop-key-7391", "GLASSMQ_SECRET_KEY": "shop-secret-2846"}
    log_file = tmp_path / "job.log"
    with LiveServer(tmp_path, broker=BrokerConfig(port=0, acl_enable=True), page=False) as live:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "app.command_line", "pipeline", "archive", "--json"),
                *("--topics=SELF_TEST_TOPIC", f"--folder={tmp_path / 'archive'}", "--master=local[1]"),
                *(f"--log-file={log_file}", f"--name-server={live.name_servers[0]}"),
            ],
            env={**os.environ, **keys, "JDK_JAVA_OPTIONS": QUICK_JVM},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    log = log_file.read_text(errors="replace")
    last = json.loads(done.stdout.splitlines()[-1])
    reported = {
        "en": "The broker rejected a request (topic SELF_TEST_TOPIC).",
        "zh": "Broker 拒绝了请求（主题 SELF_TEST_TOPIC）。",
    }
    assert (last["event"], last["text"]) == ("failed", reported), done.stdout
    assert "ROCKETMQ_REFUSED" in log, "the whole story is there"
    assert "shop-secret-2846" not in done.stdout + done.stderr + log


async def send_orders(name_server):
    """A job begins to work when its topics exist."""
    async with DefaultMQProducer(None, "shop", name_server) as producer:
        await producer.send(Message("orders", b"1"))


def test_nothing_of_a_run_outlives_a_server_that_was_killed(tmp_path):
    with GlassProcess(tmp_path, page=True) as server:
        address = server.addresses["page"].removeprefix("http://").rstrip("/")
        asyncio.run(send_orders(server.name_server))
        run_id = ask(address, "/api/pipeline/runs", {"job": "traffic", "arguments": {"topics": "orders"}})["id"]
        log_file = ask(address, f"/api/pipeline/runs/{run_id}")["log_file"]
        session = wait_until(lambda: session_of(log_file), "the process of the run", PATIENCE_S)
        try:
            # The run's own Python, and Java on its way.
            wait_until(lambda: len(session_members(session)) >= 2, "Python and Java of the run", PATIENCE_S)
            server.kill()
            wait_until(lambda: not session_members(session), "the end of the processes of the run", PATIENCE_S)
        finally:
            kill_session(session)
