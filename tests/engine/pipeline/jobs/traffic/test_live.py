"""The whole job against a live broker."""

from __future__ import annotations

import threading

import pytest

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.runner import run_job
from tests.support.live.live_server import LiveServer, message
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.waiting import wait_until

PATIENCE_S = 180


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("broker"), page=False) as live:
        live.send(*[message("Orders", "12345", keys=f"k{n % 2}", tags="ABC"[n % 3]) for n in range(60)])
        offsets = live.host._machines.broker.consumer_offset_manager
        live.host._engine()[0].call(lambda: offsets.commit_offset("test", "readers", "Orders", 0, 5))
        yield live


def run(live, spark, report=None, stop=None, **arguments):
    report = report or MemoryReport()
    cluster = {"nameServer": live.name_servers[0]}
    run_job("traffic", arguments, cluster, "local[2]", report, stop or threading.Event(), session=spark)
    return report


def test_history_is_counted_and_lag_is_what_the_broker_knows(live, spark):
    broker = live.host._machines.broker
    thread, _ = live.host._engine()
    report = run(live, spark, topics="Orders", groups="readers", window_ms=3_600_000)
    ends = [thread.call(lambda queue=queue: broker.store.max_offset("Orders", queue)) for queue in range(4)]
    assert [row[:3] for row in report.tables["topics"]] == [["Orders", 60, 300]]
    assert {row[1]: row[2] for row in report.tables["queues"]} == {f"broker-a:{n}": end for n, end in enumerate(ends)}
    assert {row[1]: row[2] for row in report.tables["tags"]} == {"A": 20, "B": 20, "C": 20}
    assert {row[1]: row[2] for row in report.tables["keys"]} == {"k0": 30, "k1": 30}
    lag = {row[2]: row[3:] for row in report.tables["lag"]}
    assert lag["broker-a:0"] == [5, ends[0], ends[0] - 5]
    assert report.reached == {"Orders": {f"broker-a:{n}": end for n, end in enumerate(ends)}}


def test_a_stream_adds_what_comes(live, spark):
    report, stop = MemoryReport(), threading.Event()
    arguments = {"topics": "Orders", "groups": "readers", "follow": True, "trigger_ms": 100, "window_ms": 3_600_000}
    thread = threading.Thread(target=run, args=(live, spark, report, stop), kwargs=arguments)
    thread.start()

    def is_counted(messages):
        assert thread.is_alive(), report.tables
        return report.tables.get("topics", [[None, 0]])[0][1] == messages and report.tables.get("late")

    def wait_for(messages):
        wait_until(lambda: is_counted(messages), f"{messages} counted messages", PATIENCE_S, seen=lambda: report.tables)

    try:
        wait_for(60)
        live.send(message("Orders", "one more"))
        wait_for(61)
    finally:
        stop.set()
        thread.join(30)
    assert report.tables["late"][0][2] == 0
    assert {series for plot, series, _, _ in report.points if plot == "lag"} == {"readers"}


def test_an_unknown_topic_is_named(live, spark):
    with pytest.raises(JobFailed, match=r"knows no topic 'Ordres'.*did you mean 'Orders'"):
        run(live, spark, topics="Ordres")
