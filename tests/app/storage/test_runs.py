"""Runs of the storage laboratory: one at a time, watched, ended, remembered; and what the growing run brings."""

from __future__ import annotations

import multiprocessing
import tempfile

import pytest

from app.foundation.translator import texts
from app.storage.progress import ProgressStep
from app.storage.runs import works
from app.storage.runs.host import RunUnderWay, StorageRuns
from app.web_application import create_app
from tests.app.storage import tiny_works
from tests.support.live.fixture_server import FixtureSource
from tests.support.waiting import wait_until

WORKS = {"quick": tiny_works.quick, "endless": tiny_works.endless, "broken": tiny_works.broken}


@pytest.fixture
def runs():
    made = StorageRuns(WORKS)
    yield made
    made.close()


def until(runs, kind, is_reached):
    """Return the first state of that run that is wanted."""
    return wait_until(
        lambda: state if is_reached(state := runs.state(kind)) else None,
        f"the state of {kind} that the test needs",
        seen=lambda: runs.state(kind),
    )


def test_a_run_ends_with_its_report(runs):
    assert runs.state("quick")["phase"] == "none"
    runs.start("quick")
    state = until(runs, "quick", lambda state: state["phase"] != "running")
    assert (state["phase"], state["number"], state["total"], state["error"]) == ("ended", 1, 2, None)
    assert state["report"]["plots"][0]["lines"] == {"kafka": [(1.0, 2.0)]}


def test_there_is_one_at_a_time_and_it_can_be_ended(runs):
    runs.start("endless")
    state = until(runs, "endless", lambda state: state["number"] > 0)
    assert (state["number"], state["total"]) == (3, 12)
    for kind in WORKS:
        with pytest.raises(RunUnderWay):
            runs.start(kind)
    runs.cancel("endless")
    assert runs.state("endless")["phase"] == "cancelled"
    runs.start("quick")
    until(runs, "quick", lambda state: state["phase"] == "ended")
    runs.cancel("quick")
    assert runs.state("quick")["phase"] == "ended"


def test_a_run_that_fails_says_why(runs):
    runs.start("broken")
    state = until(runs, "broken", lambda state: state["phase"] != "running")
    assert (state["phase"], state["error"]) == ("failed", "ValueError: the disk said no")


def test_a_closed_host_begins_nothing_and_leaves_no_files(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runs.start("endless")
    until(runs, "endless", lambda state: state["number"] > 0)
    assert len(list(tmp_path.glob("*/half-done"))) == 1
    runs.close()
    assert list(tmp_path.iterdir()) == []
    assert runs.state("endless")["phase"] == "cancelled"
    with pytest.raises(RunUnderWay):
        runs.start("quick")


@pytest.mark.parametrize(
    ("lacking", "error"),
    [
        ("tempfile.mkdtemp", OSError("no space left on device")),
        ("multiprocessing.context.SpawnProcess.start", BlockingIOError("no more processes")),
        ("threading.Thread.start", RuntimeError("can't start new thread")),
    ],
)
def test_a_run_that_could_not_be_started_is_not_under_way(runs, tmp_path, monkeypatch, lacking, error):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runs.start("quick")
    report = until(runs, "quick", lambda state: state["phase"] == "ended")["report"]
    with monkeypatch.context() as machine:
        machine.setattr(lacking, refuse)
        with pytest.raises(type(error)):
            runs.start("quick")
    assert (runs.state("quick")["phase"], runs.state("quick")["report"]) == ("ended", report)
    wait_until(
        lambda: not any(child.name.startswith("storage-") for child in multiprocessing.active_children()),
        "the end of the runs' processes",
    )
    wait_until(lambda: not list(tmp_path.iterdir()), "the end of the runs' folders")
    runs.start("endless")
    until(runs, "endless", lambda state: state["number"] > 0)


def assert_has_words(report):
    """Whatever a report names has texts, which both languages have."""
    keys = [f"storage.plot.{plot.name.split('_by_')[0]}" for plot in report.plots]
    keys += [f"storage.axis.{plot.name.split('_by_')[-1].split('_')[0]}" for plot in report.plots]
    stores = {"rocketmq", "kafka"}
    lines = [line for plot in report.plots for line in plot.lines]
    keys += [f"storage.{'store' if line in stores else 'line'}.{line}" for line in lines]
    keys += [f"storage.fact.{fact.name}" for fact in report.facts]
    for table in report.tables:
        keys += [f"storage.table.{table.name}", *(f"storage.column.{column}" for column in table.columns)]
        keys += [f"storage.cell.{cell}" for row in table.rows for cell in row if isinstance(cell, str)]
    assert [key for key in keys if key not in texts("en")] == []


def test_growing_draws_its_exact_figures_and_judges_the_claims(tmp_path, monkeypatch):
    monkeypatch.setattr(works, "TOPICS", (1, 10))
    monkeypatch.setattr(works, "TOPIC_MESSAGES", 1_000)
    monkeypatch.setattr(works, "MESSAGES", (100, 400))
    steps: list[ProgressStep] = []
    report = works.measure_growth(tmp_path, steps.append)
    assert steps[-1].number == steps[-1].total - 1 == 7
    assert list(tmp_path.iterdir()) == []
    plots = {plot.name: plot for plot in report.plots}
    assert plots["written_files_by_topics"].lines == {"rocketmq": [(1, 1), (10, 1)], "kafka": [(1, 1), (10, 10)]}
    assert plots["lookup_seeks_by_messages"].lines["rocketmq"] == [(100, 2), (400, 2)]
    # Twenty bytes for each message of all topics.
    assert plots["index_bytes_by_messages"].lines["rocketmq"] == [(100, 2_000), (400, 8_000)]
    assert {len(plots[f"strip_{store}"].lines) for store in works.STORES} == {1}
    facts = {fact.name: fact for fact in report.facts}
    values = facts["many_topics"].values
    assert facts["many_topics"].holds == (values["rocketmq_factor"] < values["kafka_factor"])
    assert facts["many_messages"].holds
    assert_has_words(report)


def test_the_disk_is_measured_and_reported_with_exact_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(works, "FILE_BYTES", 1024 * 1024)
    monkeypatch.setattr(works, "ROUNDS", 1)
    report = works.measure_disk(tmp_path, lambda _: None)
    assert [plot.name for plot in report.plots] == ["reads", "sends_cold", "sends_warm"]
    assert set(report.plots[0].lines) == {"sequential_cold", "sequential_warm", "random_cold", "random_warm"}
    sends, appends = report.tables
    copies = {str(row[0]): row[sends.columns.index("copied")] for row in sends.rows}
    assert copies == {"read_send": 2, "mmap_send": 1, "sendfile": 0}
    assert [row[0] for row in appends.rows] == ["never", "per_batch", "per_message"]
    assert_has_words(report)


def test_over_http_an_unknown_kind_is_refused_and_a_known_one_reported():
    made = create_app(FixtureSource(0, clock=lambda: 1_800_000_000.0))
    client = made.app.test_client()
    assert client.get("/api/storage/runs/grow").get_json()["phase"] == "none"
    for address in ("/api/storage/runs/luck", "/api/storage/runs/luck/cancel"):
        refusal = client.post(address)
        assert (refusal.status_code, refusal.get_json()["parameter"]) == (400, "kind")
    assert client.post("/api/storage/runs/grow/cancel").get_json()["phase"] == "none"
    made.parts.storage_runs.close()
    assert client.post("/api/storage/runs/grow").status_code == 503
