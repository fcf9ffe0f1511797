"""Source, writer and two jobs where executors are other processes, which have Spark's packages and no others."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pyspark
import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.client import DefaultMQProducer, LocalTransactionState, Message, TransactionMQProducer
from tests.support.live.live_server import LiveServer, ObedientListener

PROJECT = Path(__file__).resolve().parents[3]
#: What `pip install pyspark pyarrow numpy pandas` brings, as far as Spark's Python workers import it.
OF_SPARK = ("pyspark", "py4j", "pyarrow", "numpy", "pandas", "pytz", "dateutil", "tzdata", "six.py")


def make_executor_python(folder):
    """A Python that finds Spark's packages, but neither this project nor what else is installed."""
    packages = folder / "packages"
    packages.mkdir()
    installed = Path(pyspark.__file__).parents[1]
    for path in installed.iterdir():
        if path.name in OF_SPARK or path.name.endswith(".libs"):
            (packages / path.name).symlink_to(path)
    python = folder / "python"
    # -S: no site-packages, so no path of an editable install either.
    python.write_text(f'#!/bin/sh\nexport PYTHONPATH="$PYTHONPATH:{packages}"\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    return python


def run_program(name, folder, *arguments):
    """What a program of ``tests/support/pipeline`` tells in its last line; its executors have only Spark's packages."""
    work = folder / "work"
    work.mkdir()
    command = [sys.executable, PROJECT / "tests" / "support" / "pipeline" / name, work, *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYSPARK_PYTHON"] = str(make_executor_python(folder))
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_executors_read_and_write_with_the_code_that_was_shipped_to_them(spark_installed, tmp_path):
    with LiveServer(tmp_path / "data", page=False) as server:
        server.create_topic("Shipped")
        report = run_program("cluster_program.py", tmp_path, server.name_servers[0], "Shipped")
    assert [("glassmq_engine_" in found["engine"], found["orjson"]) for found in report["python"]] == [
        (True, False)
    ] * 2
    # The task that wrote failed once, half-way.
    assert report["bodies"] == list(range(100))


async def send_orders_and_payments(name_servers):
    """Six numbered orders of which one is missing; two payments that are committed and one that is rolled back."""
    settings = {"number_messages": True, "enable_msg_trace": True}
    async with DefaultMQProducer(None, "senders", name_servers, **settings) as producer:
        await producer.create_topic("Orders", queue_nums=2)
        for number in range(6):
            message = Message("Orders", b"order")
            if number == 3:
                producer.numbering.number("Orders", [message.properties])
            else:
                await producer.send(message)
    async with TransactionMQProducer(None, "payers", name_servers, ObedientListener()) as producer:
        for number, state in enumerate(("COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "COMMIT_MESSAGE")):
            payment = Message("Payments", b"pay", keys=f"payment-{number}")
            await producer.send_message_in_transaction(payment, LocalTransactionState[state])


def make_ledgers(folder):
    """Both payments were debited, one was credited."""
    for name, keys in (("icbc.db", ("payment-0", "payment-2")), ("ccb.db", ("payment-0",))):
        with closing(sqlite3.connect(folder / name)) as database, database:
            database.execute("CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER)")
            for table in ("transfer", "credit"):
                database.execute(
                    f"CREATE TABLE {table} (key TEXT PRIMARY KEY, account TEXT, amount INTEGER, at_ms INTEGER)"
                )
            posted = "transfer" if name == "icbc.db" else "credit"
            database.executemany(f"INSERT INTO {posted} VALUES (?, 'A', 10, 1)", [(key,) for key in keys])


@pytest.mark.further
def test_jobs_find_the_same_on_executors_that_are_other_processes(spark_installed, tmp_path):
    """The audit and the reconciliation, once and as streams that keep their state where all can see it."""
    make_ledgers(tmp_path)
    audit = {"topics": "Orders", "groups": "readers", "grace_ms": 0}
    reconciliation = {"topics": "Payments", "bank_folder": str(tmp_path)}
    follow = {"follow": True, "trigger_ms": 100}
    jobs = [
        ("delivery-audit", audit),
        ("delivery-audit", {**audit, **follow, "checkpoint_folder": str(tmp_path / "audit")}),
        ("transaction-reconciliation", reconciliation),
        ("transaction-reconciliation", {**reconciliation, **follow, "checkpoint_folder": str(tmp_path / "state")}),
    ]
    with LiveServer(tmp_path / "data", broker=BrokerConfig(port=0, trace_topic_enable=True), page=False) as server:
        asyncio.run(send_orders_and_payments(server.name_servers))
        reported = run_program("cluster_jobs_program.py", tmp_path, server.name_servers[0], json.dumps(jobs))
    for run in reported[:2]:
        found = {(row[0], row[6]) for row in run["tables"]["findings"]}
        assert ("lost", 1) in found, run
        assert sum(row[4] for row in run["tables"]["groups"]) == 5
    for run in reported[2:]:
        assert [row[:2] for row in run["tables"]["summary"]] == [["rolled back", 1], ["committed", 2]]
        assert [row[:2] for row in run["tables"]["transfers"]] == [
            ["on its way: debited, not credited yet", "payment-2"]
        ]
        assert run["tables"]["money"][0][3:6] == [10, 0, 0]
