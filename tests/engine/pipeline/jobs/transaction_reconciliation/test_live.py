"""The whole job against a live broker: what it says is what the broker says."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from app.command_line import main
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client import LocalTransactionState, Message, TransactionMQProducer
from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.runner import run_job
from tests.support.live.live_server import LiveServer, ObedientListener
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.waiting import wait_until

COMMIT, ROLLBACK, UNKNOWN = (
    LocalTransactionState.COMMIT_MESSAGE,
    LocalTransactionState.ROLLBACK_MESSAGE,
    LocalTransactionState.UNKNOW,
)
NAME = "transaction-reconciliation"
PATIENCE_S = 180


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """Asks soon, and gives up after two checks."""
    config = BrokerConfig(
        port=0, transaction_time_out_ms=400, transaction_check_interval_ms=200, transaction_check_max=2
    )
    with LiveServer(tmp_path_factory.mktemp("broker"), broker=config, page=False) as live:
        yield live


def send(live, topic, *states):
    async def send():
        async with TransactionMQProducer(None, "payers", live.name_servers, ObedientListener()) as producer:
            for number, state in enumerate(states):
                await producer.send_message_in_transaction(Message(topic, b"x", keys=f"{topic}-{number}"), state)

    asyncio.run(send())


def run(live, spark, report=None, stop=None, **arguments):
    report = report or MemoryReport()
    cluster = {"nameServer": live.name_servers[0]}
    run_job(NAME, arguments, cluster, "local[2]", report, stop or threading.Event(), session=spark)
    return report


def rows(report):
    return sum(batch["rows"] for batch in report.batches)


def summary(report):
    return {status: count for status, count, _, _ in report.tables.get("summary", ())}


def follow_until(live, spark, condition, **arguments):
    """Return the report of a following run that was stopped as soon as ``condition`` held for it."""
    report, stop, failures = MemoryReport(), threading.Event(), []

    def work():
        try:
            run(live, spark, report, stop, follow=True, trigger_ms=100, **arguments)
        except Exception as error:  # reported below, in the test's own thread
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        wait_until(
            lambda: condition(report) or not thread.is_alive(),
            "the report that the test needs",
            PATIENCE_S,
            seen=lambda: (failures, report.tables),
        )
    finally:
        stop.set()
        thread.join(30)
    assert condition(report), (failures, report.tables)
    return report


def test_history_is_reported_as_the_broker_sees_it(live, spark):
    send(live, "Orders", COMMIT, ROLLBACK, UNKNOWN, COMMIT)
    live.state_when(lambda state: state["transactions"]["discarded"] == 1)
    report = run(live, spark, topics="Orders")
    assert summary(report) == {"given up": 1, "rolled back": 1, "committed": 2}
    ((identity, topic, group, key, status, _, _, checks, broker, half_offset),) = report.tables["open"]
    assert (topic, group, key, status, checks, broker) == ("Orders", "payers", "Orders-2", "given up", 2, "broker-a")
    part = live.host.state()["transactions"]
    assert half_offset == part["half_end"] - 1
    assert len(identity) == 32
    assert report.tables["findings"] == []
    assert report.tables["windows"][0][1] == 2
    assert report.reached["RMQ_SYS_TRANS_HALF_TOPIC"] == {"broker-a:0": part["half_end"]}
    assert report.reached["RMQ_SYS_TRANS_OP_HALF_TOPIC"] == {"broker-a:0": part["op_end"]}


def test_banks_that_agree_are_reported_too(live, spark, tmp_path):
    arguments = ["bank", "--folder", str(tmp_path), "--name-server", live.name_servers[0], "--transfers", "2"]
    result = CliRunner().invoke(main, [*arguments, "--debit-ms", "0"])
    assert result.exit_code == 0, result.output
    report = run(live, spark, topics="GlassMQBank", bank_folder=str(tmp_path), opening_sum=100_000)
    assert report.tables["money"] == [[100_000, 100_000, 100_000, 0, 0, 0, True, 0]]
    assert [row[:2] + row[5:] for row in report.tables["accounts"]] == [["icbc", "A", 80_000], ["ccb", "B", 20_000]]
    assert report.tables["transfers"] == []
    assert [row[1] for row in report.tables["windows"]] == [2, 2]
    assert report.points[-1][:2] == ("in_flight", "in flight")
    assert report.points[-1][3] == 0


def test_a_stream_goes_on_after_a_stop_where_it_was_and_counts_nothing_twice(live, spark, tmp_path):
    # What nobody asked for is not counted, neither while it is remembered nor when it was forgotten.
    send(live, "Elsewhere", COMMIT, ROLLBACK)
    send(live, "Parcels", COMMIT, ROLLBACK)
    options = {"topics": "Parcels", "checkpoint_folder": str(tmp_path), "keep_settled_ms": 1_000}

    def reported(committed, rows_least=1):
        """Spark tells of a batch a moment after it."""
        counts = {"rolled back": 1, "committed": committed}
        return lambda report: summary(report) == counts and rows(report) >= rows_least

    first = follow_until(live, spark, reported(1), **options)
    send(live, "Parcels", COMMIT, COMMIT)
    second = follow_until(live, spark, reported(3), **options)
    anew = {**options, "checkpoint_folder": str(tmp_path / "another")}
    whole = follow_until(live, spark, reported(3, rows(first) + rows(second)), **anew)
    # Only what came since: the rest was known.
    assert rows(second) <= rows(whole) - rows(first)
    assert second.tables["findings"] == []
    # Now the first ones are old enough to be forgotten.
    send(live, "Parcels", COMMIT)
    report = follow_until(live, spark, lambda report: summary(report) == {"rolled back": 1, "committed": 4}, **options)
    assert report.tables["findings"] == []
    forgotten, remembered = state_of(tmp_path / "facts")
    assert forgotten["rolled back"] == 1
    assert sum(row["topic"] == "Parcels" for row in remembered) == 4 - forgotten["committed"]
    assert 1 <= forgotten["committed"] <= 3
    assert forgotten["its topic is not read"] >= 2


def state_of(folder):
    """What a stopped stream has forgotten (status -> transactions) and the transactions that it remembers."""
    numbers = sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())
    assert 1 <= len(numbers) <= 3
    forgotten, remembered = Counter(), []
    for row in parquet.read_table(folder / str(numbers[-1])).to_pylist():
        if row["role"] == "forgotten":
            forgotten[row["key"]] += row["transactions"]
        elif row["role"] == "transaction":
            remembered.append(row)
    return forgotten, remembered


def test_nothing_to_read_is_said(live, spark):
    with pytest.raises(JobFailed, match="starting_offsets: latest is allowed only with follow"):
        run(live, spark, starting_offsets="latest")
    report = run(live, spark, topics="Nowhere")
    assert [note["en"] for note in report.notes][-1] == "There are no transactions."
    assert any("Nowhere" in note["en"] for note in report.notes)
