"""A run of the lab is audited: what of it can be, what is written, what the pipeline is asked, what is refused."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow.parquet as pq
import pytest

from app.lab.foundation.refusal import LabRefused
from app.lab.routes import audits
from app.pipeline.host import PipelineSettings
from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.pipeline.world_export import export_messages
from tests.app.lab.conftest import Lab
from tests.support.waiting import wait_until

LESSON = "15-auditing-with-spark"
#: Commands that stand in for ``glassmq pipeline``: one ends immediately, and one ends when it is stopped.
ENDS = (sys.executable, "-c", "")
WAITS = (sys.executable, "-c", "import sys; sys.stdin.read()")

WORLD = """
title: {{en: own, zh: 自己的}}
about: {{en: own, zh: 自己的}}
nodes:
  N1: {{role: name_server}}
  B1: {{role: broker}}
  P1:
    role: producer
    group: shop
    traffic: {{topic: Orders, count: 4, every_ms: 100, numbered: true}}
  C1: {{role: consumer, group: billing, topic: Orders, {first}}}
  C2: {{role: consumer, group: billing, topic: Orders, {second}}}
topics: {{Orders: {{queues: 2}}}}
"""
REPORTS = "settings: {enable_msg_trace: true}"


def lab_with(tmp_path, command):
    return Lab(PipelineSettings(tmp_path / "pipeline", "127.0.0.1:1", command=command, niceness=0))


@pytest.fixture
def lab(tmp_path):
    made = lab_with(tmp_path, ENDS)
    yield made
    made.close()


@pytest.fixture
def exports(tmp_path):
    return tmp_path / "pipeline" / "lab"


@pytest.fixture
def no_export(monkeypatch):
    """Worlds are written in no time: nothing is in the files."""

    def write(self, link, folder):
        folder.mkdir(parents=True)

    monkeypatch.setattr(audits.LabAudits, "export", write)


def opened(lab, scenario=LESSON, time_ms=30_000):
    browser = lab.browser()
    browser.open(scenario=scenario)
    browser.control("run-until", on="time", time_us=time_ms * 1_000)
    return browser


def plan(browser):
    return browser.http.get(f"/api/lab/{browser.world}/audit").json


def begin(browser, **asked):
    return browser.http.post(f"/api/lab/{browser.world}/audit", json={"event": browser.view["event"], **asked})


def run_of(lab, answer):
    return lab.server.pipeline.state(answer.json["run"])


def exporting():
    """Processes that repeat a run."""
    return [child for child in multiprocessing.active_children() if child.name == "glassmq lab export"]


def all_over(lab):
    runs = lab.server.pipeline.runs
    wait_until(lambda: all(run["ended_us"] is not None for run in runs()), "the end of every run", seen=runs)


def test_a_run_is_written_as_it_stands_and_its_audit_begins(lab, exports):
    browser = opened(lab)
    browser.control("scrub", event=browser.view["event"] - 300)
    expected = {
        "topics": ["Orders"],
        "groups": ["billing@Orders", "shipping@Orders"],
        "silent": [],
        "unnumbered": [],
        "problem": None,
    }
    assert plan(browser) == expected
    answer = begin(browser)
    assert answer.status_code == 201, answer.json
    assert answer.json["address"] == f"/pipeline#run-{answer.json['run']}"
    run = run_of(lab, answer)
    (folder,) = exports.iterdir()
    asked = {name: run["arguments"][name] for name in ("input_folder", "topics", "groups", "judge_groups")}
    assert (run["job"], asked) == (
        "delivery-audit",
        {
            "input_folder": str(folder),
            "topics": "Orders",
            "groups": "billing@Orders,shipping@Orders",
            "judge_groups": True,
        },
    )
    origin = urlsplit(run["origin"])
    recording = parse_link(origin.fragment)
    assert (origin.path, recording.event) == (f"/lab/{LESSON}", browser.view["event"])
    assert exporting() == []
    with LabRun.replay(recording) as again:
        export_messages(again, exports.parent / "again")
    assert pq.read_table(folder).equals(pq.read_table(exports.parent / "again"))


def test_a_world_of_somebody_else_is_not_audited(lab):
    browser, stranger = opened(lab, "hello", 1_000), lab.browser()
    answer = stranger.http.post(f"/api/lab/{browser.world}/audit", json={"event": browser.view["event"]})
    assert (answer.status_code, answer.json["reason"]) == (404, "no_world")


def test_a_run_without_numbers_says_what_to_set_and_then_can_be_audited(lab):
    browser = opened(lab, "hello", 3_000)
    reported = plan(browser)
    assert (reported["unnumbered"], reported["topics"]) == (["P1"], [])
    assert "numbers" in reported["problem"]["en"] and "编号" in reported["problem"]["zh"]
    answer = begin(browser)
    assert (answer.status_code, answer.json["reason"]) == (400, "audit_no_numbers")
    browser.command("setting", "P1", name="number_messages", value=True)
    lab.serve()
    expected = {"topics": ["Greetings"], "groups": [], "silent": ["C1"], "unnumbered": [], "problem": None}
    assert plan(browser) == expected


@pytest.mark.parametrize(
    ("first", "second", "groups", "silent"),
    [
        (REPORTS, REPORTS, ("billing@Orders",), ()),
        (REPORTS, "threads: 1", (), ("C2",)),
        (f"expression: TagA, {REPORTS}", f"expression: TagA, {REPORTS}", (), ()),
        (f"model: broadcasting, {REPORTS}", f"model: broadcasting, {REPORTS}", (), ()),
    ],
)
def test_a_group_must_have_everything_if_all_of_it_report_and_want_everything(tmp_path, first, second, groups, silent):
    with LabRun(parse_scenario(WORLD.format(first=first, second=second), "own")) as run:
        run.run_to_time(1_000_000)
        made = audits.plan_of(run)
        assert (made.topics, made.groups, made.silent) == (("Orders",), groups, silent)
        assert made.arguments(tmp_path)["judge_groups"] is bool(groups)


def test_what_a_broker_that_is_down_holds_cannot_be_audited():
    with LabRun(load_scenario(LESSON)) as run:
        run.run_to_time(3_000_000)
        run.apply(Command("crash", "B1"))
        with pytest.raises(LabRefused, match="B1 is not running"):
            audits.plan_of(run)


def test_a_world_that_holds_too_much_is_refused(lab, monkeypatch):
    monkeypatch.setattr(audits, "EXPORT_MAX_BYTES", 1_000)
    assert begin(opened(lab)).json["reason"] == "audit_too_much"


def test_without_a_pipeline_the_page_says_why():
    lab = Lab()
    browser = opened(lab)
    assert "--no-pipeline" in plan(browser)["problem"]["zh"]
    answer = begin(browser)
    assert (answer.status_code, answer.json["reason"]) == (503, "audit_pipeline")
    lab.close()


@pytest.mark.usefixtures("no_export")
def test_one_job_too_many_is_refused_and_its_files_are_gone(tmp_path, exports):
    lab = lab_with(tmp_path, WAITS)
    browser = opened(lab)
    assert [begin(browser).status_code for _ in range(3)] == [201, 201, 503]
    assert "are running" in begin(browser).json["text"]["en"]
    assert len(list(exports.iterdir())) == 2
    lab.close()


@pytest.mark.usefixtures("no_export")
def test_of_the_files_the_newest_stay_and_those_that_are_still_read(tmp_path, exports, monkeypatch):
    monkeypatch.setattr(audits, "EXPORTS_KEPT", 2)
    lab = lab_with(tmp_path, ENDS)
    browser = opened(lab)
    folders = []
    for _ in range(3):
        folders.append(run_of(lab, begin(browser))["arguments"]["input_folder"])
        all_over(lab)
    assert sorted(map(str, exports.iterdir())) == sorted(folders[1:])
    lab.close()

    lab = lab_with(tmp_path, WAITS)
    monkeypatch.setattr(audits, "EXPORTS_KEPT", 1)
    browser = opened(lab)
    reading = [run_of(lab, begin(browser))["arguments"]["input_folder"] for _ in range(2)]
    assert sorted(map(str, exports.iterdir())) == sorted(reading)
    lab.close()


@pytest.mark.usefixtures("no_export")
def test_what_is_no_export_is_never_deleted(tmp_path, exports, monkeypatch):
    monkeypatch.setattr(audits, "EXPORTS_KEPT", 1)
    lab = lab_with(tmp_path, ENDS)
    others = [exports / name for name in ("orders", "orders-2026", "old-0123abcd-notes")]
    for other in others:
        other.mkdir(parents=True)
        os.utime(other, (0, 0))
    browser = opened(lab)
    for _ in range(2):
        begin(browser)
        all_over(lab)
    assert all(other.is_dir() for other in others)
    assert len(list(exports.iterdir())) == len(others) + 1
    lab.close()


@pytest.mark.usefixtures("no_export")
def test_a_folder_that_is_read_stays_however_the_data_folder_is_named(tmp_path, exports, monkeypatch):
    monkeypatch.setattr(audits, "EXPORTS_KEPT", 0)
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("link", "."):
        lab = lab_with(Path(name), WAITS)
        (exports / "read-0123abcd").mkdir(parents=True, exist_ok=True)
        browser = opened(lab)
        asked = {"job": "delivery-audit", "arguments": {"input_folder": "lab/read-0123abcd"}}
        assert browser.http.post("/api/pipeline/runs", json=asked).status_code == 201
        own = Path(run_of(lab, begin(browser))["arguments"]["input_folder"])
        assert sorted(exports.iterdir()) == sorted([own, exports / "read-0123abcd"])
        lab.close()
        own.rmdir()


@pytest.mark.usefixtures("no_export")
def test_an_export_that_somebody_deletes_meanwhile_spoils_no_audit(lab, exports):
    exports.mkdir(parents=True)
    # Its age cannot be asked for, as if it had just gone.
    (exports / "gone-0123abcd").symlink_to("nowhere")
    assert begin(opened(lab)).status_code == 201


def test_what_is_audited_is_what_was_seen(lab):
    browser = opened(lab, LESSON, 1_000)
    seen = browser.view["event"]
    browser.control("step")
    answer = begin(browser, event=seen)
    assert (answer.status_code, answer.json["reason"]) == (400, "audit_elsewhere")
    assert str(seen + 1) in answer.json["text"]["zh"]
    for asked in (None, "1"):
        answer = begin(browser, event=asked)
        assert (answer.status_code, answer.json["reason"]) == (400, "bad_request")
        assert "event: " in answer.json["text"]["en"]


@pytest.mark.usefixtures("no_export")
def test_the_way_back_leads_to_the_audited_event_wherever_the_world_stands_by_now(lab):
    browser = opened(lab, LESSON, 1_000)
    world, event = browser.world, browser.view["event"]
    origin = urlsplit(run_of(lab, begin(browser))["origin"])
    assert "exact" in parse_qs(origin.query, keep_blank_values=True)
    back = {"link": origin.fragment, "exact": True}
    assert browser.open(**back)["event"] == event
    assert browser.world == world
    browser.control("step")
    assert browser.open(link=origin.fragment)["event"] == event + 1
    browser.open(**back)
    lab.serve()
    assert browser.receive()["event"] == event
    assert browser.world != world


@pytest.mark.usefixtures("no_export")
def test_where_the_link_is_too_long_there_is_no_way_back(lab, monkeypatch):
    monkeypatch.setattr(audits, "LINK_MAX", 10)
    assert run_of(lab, begin(opened(lab, LESSON, 1_000)))["origin"] is None


@pytest.fixture(scope="module")
def link():
    """Leads to a run whose export takes a while."""
    with LabRun(load_scenario(LESSON)) as run:
        run.run_to_time(30_000_000)
        return run.link()


def test_what_takes_too_long_is_ended(link, tmp_path, monkeypatch):
    monkeypatch.setattr(audits, "EXPORT_TIMEOUT_S", 0.0)
    with pytest.raises(LabRefused, match="more than 0 s"):
        audits.LabAudits(None).export(link, tmp_path / "export")
    assert exporting() == []


def test_an_export_ends_with_the_server(link, tmp_path):
    made, refused = audits.LabAudits(None), []

    def export():
        with pytest.raises(LabRefused) as refusal:
            made.export(link, tmp_path / "export")
        refused.append(refusal.value.reason)

    thread = threading.Thread(target=export)
    thread.start()

    def close_and_look():
        made.close()
        return not thread.is_alive()

    wait_until(close_and_look, "the end of the export after the server closed")
    assert (refused, exporting()) == (["audit_died"], [])


def test_a_process_that_ends_without_a_word_is_a_refusal(link, tmp_path, monkeypatch):
    monkeypatch.setattr(audits, "export_in_process", print)
    with pytest.raises(LabRefused, match="without an error message"):
        audits.LabAudits(None).export(link, tmp_path / "export")


def test_what_cannot_be_repeated_is_said(tmp_path):
    with pytest.raises(LabRefused) as refusal:
        audits.LabAudits(None).export("no link", tmp_path / "export")
    assert refusal.value.reason == "audit_export"
    assert refusal.value.text["zh"].startswith("未能回放")
