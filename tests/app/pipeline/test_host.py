"""Runs of jobs: their phases, the bounds on what they tell, and their end, of which nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from app.pipeline import child_process
from app.pipeline import host as host_module
from app.pipeline.child_process import (
    LINE_BURST,
    LINE_MAX,
    LINES_PER_SECOND,
    ChildProcess,
    bounded_lines,
    hurry,
    session_members,
)
from app.pipeline.host import (
    RUNNING_MAX,
    BrokerCredentials,
    PipelineHost,
    PipelineSettings,
    SparkPackageMissing,
    TooManyRuns,
    UnknownRun,
)
from app.pipeline.run_phase import RunPhase, follow
from app.pipeline.run_record import BATCHES_MAX, NOTES_MAX, POINTS_MAX, QUEUES_MAX, UNITS_MAX, RunRecord
from engine.pipeline.errors import UnknownJob
from engine.pipeline.jobs import registry
from engine.pipeline.jobs.arguments import ArgumentRefused
from engine.pipeline.jobs.report import ROWS_MAX
from engine.runtime.state_table import IllegalStateChange
from tests.support.pipeline import tiny_job
from tests.support.waiting import wait_until

FAKE = (sys.executable, "-m", "tests.support.pipeline.fake_job")


@pytest.fixture(autouse=True)
def with_the_tiny_job(monkeypatch):
    monkeypatch.setattr(registry, "JOB_NAMES", registry.JOB_NAMES)  # restored in the end
    tiny_job.register()


@pytest.fixture
def host(tmp_path):
    made = PipelineHost(PipelineSettings(tmp_path / "pipeline", "127.0.0.1:1", command=FAKE, niceness=0))
    yield made
    made.close()


def when(host, run_id, condition):
    """Return the first state of the run for which ``condition`` holds."""
    return wait_until(
        lambda: state if condition(state := host.state(run_id)) else None,
        f"the state of run {run_id} that the test needs",
        seen=lambda: host.state(run_id),
    )


def is_over(state):
    return state["ended_us"] is not None


def test_a_run_is_remembered_with_all_that_it_reported(host):
    run_id = host.start("tiny", {"numbers": "20"})
    state = when(host, run_id, is_over)
    assert (state["phase"], state["error"], state["dropped"]) == ("ended", None, 0)
    assert state["arguments"]["numbers"] == 20
    assert state["progress"] == {"messages": {"done": 20, "total": 20}}
    assert state["tables"]["counts"]["rows"][0] == ["lost in transit", 3, 0.0025, 3]
    assert state["reached"]["orders"]["broker-a"]["0"] == 800
    assert state["notes"][0]["zh"] == "中文Counting."
    assert [one["id"] for one in host.runs()] == [run_id]


@pytest.mark.parametrize(
    ("lacking", "error"),
    [
        ("subprocess.Popen", BlockingIOError("no more processes")),
        ("threading.Thread.start", RuntimeError("can't start new thread")),
    ],
)
def test_a_run_that_could_not_be_started_leaves_neither_a_process_nor_a_folder(host, monkeypatch, lacking, error):
    started = []

    def refuse(*_, **__):
        raise error

    class NotedPopen(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    with monkeypatch.context() as machine:
        machine.setattr(subprocess, "Popen", NotedPopen)
        machine.setattr(lacking, refuse)
        with pytest.raises(type(error)):
            host.start("tiny", {})
    assert [process.returncode for process in started] == [-signal.SIGKILL] * len(started)
    assert host.runs() == []
    assert list(host.settings.folder.glob("work/*")) == []


def test_a_stop_ends_the_job_by_its_own_word_and_a_second_stop_changes_nothing(host):
    run_id = host.start("tiny", {"follow": True})
    when(host, run_id, lambda state: state["batch_count"] > 2)
    assert host.reached_offsets()[0][:2] == (run_id, "tiny")
    host.stop(run_id)
    state = when(host, run_id, is_over)
    assert (state["phase"], state["error"]) == ("stopped", None)
    assert host.reached_offsets() == []
    host.stop(run_id)
    assert host.state(run_id)["phase"] == "stopped"


@pytest.mark.parametrize(("way", "phase"), [("finish", "ended"), ("break", "stopped")])
def test_a_job_that_has_done_all_when_it_is_stopped_has_ended_and_one_that_fails_then_was_stopped(
    host, monkeypatch, way, phase
):
    monkeypatch.setattr(child_process, "STOP_PATIENCE_S", 60)  # on a busy machine its last words take a while
    run_id = host.start("tiny", {"way": way})
    when(host, run_id, lambda state: state["notes"])
    host.stop(run_id)
    state = when(host, run_id, is_over)
    assert (state["phase"], state["error"], state["failure"]) == (phase, None, None)
    assert bool(state["tables"]) == (way == "finish")


def test_a_job_that_does_not_hear_is_killed_within_five_seconds_with_what_it_started(host):
    run_id = host.start("tiny", {"way": "deaf"})
    when(host, run_id, lambda state: len(state["notes"]) == 2)
    session = host.process_id(run_id)
    assert len(session_members(session)) == 2
    began = time.monotonic()
    host.stop(run_id)
    assert host.state(run_id)["phase"] == "stopping"
    state = when(host, run_id, is_over)
    assert time.monotonic() - began < 20  # 5 s, and what a busy machine adds
    assert (state["phase"], session_members(session)) == ("stopped", [])


def test_a_run_gives_way_to_the_broker_within_bounds_and_leaves_no_temporary_files(tmp_path):
    shown = "import json, os, sys; print(json.dumps({'event': 'failed', 'error': json.dumps(sys.argv)}))"
    host = PipelineHost(PipelineSettings(tmp_path, "127.0.0.1:1", command=(sys.executable, "-c", shown)))
    words = json.loads(when(host, host.start("tiny", {}), is_over)["error"])
    host.close()
    assert {f"--niceness={host_module.NICENESS}", "--conf=spark.driver.memory=1g", "--ends-with-stdin"} <= set(words)
    assert {"--json", f"--max-rows={ROWS_MAX}"} <= set(words), "a page need not hold more rows than it shows"
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access("/proc/self/autogroup", os.W_OK), reason="only root on Linux may raise a session"
)
def test_what_shall_end_no_longer_gives_way():
    waits = "import os, sys; open('/proc/self/autogroup', 'w').write('10'); print('low', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", waits], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "low\n"
        hurry(process.pid)
        with open(f"/proc/{process.pid}/autogroup") as reported:
            assert reported.read().split()[-1] == "0"


def test_of_the_logs_of_former_servers_the_newest_stay(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(25):
        (logs / f"{number}.log").touch()
        os.utime(logs / f"{number}.log", (number, number))
    PipelineHost(PipelineSettings(tmp_path, "127.0.0.1:1", command=FAKE)).close()
    assert {path.name for path in logs.iterdir()} == {f"{number}.log" for number in range(5, 25)}


def test_closing_the_host_ends_all_runs(host):
    runs = [host.start("tiny", {"follow": True}) for _ in range(RUNNING_MAX)]
    for run_id in runs:
        when(host, run_id, lambda state: state["phase"] == "running")
    host.close()
    assert [session_members(host.process_id(run_id)) for run_id in runs] == [[], []]
    with pytest.raises(TooManyRuns):
        host.start("tiny", {})


def test_more_runs_than_allowed_at_a_time_are_refused(host):
    runs = [host.start("tiny", {"follow": True}) for _ in range(RUNNING_MAX)]
    with pytest.raises(TooManyRuns):
        host.start("tiny", {})
    host.stop(runs[0])
    when(host, runs[0], is_over)
    when(host, host.start("tiny", {}), is_over)


def test_what_a_job_says_of_its_failure_is_shown(host):
    state = when(host, host.start("tiny", {"way": "fail"}), is_over)
    line = "[ROCKETMQ_UNKNOWN_TOPIC] the cluster has no topic 'orders'"
    assert (state["phase"], state["error"]) == ("failed", line)
    sentence = {"en": "The cluster has no such topic (topic orders).", "zh": "集群中没有这个主题（主题 orders）。"}
    assert state["failure"] == {"text": sentence, "detail": line}


def test_a_process_that_dies_without_a_word_has_failed(host):
    state = when(host, host.start("tiny", {"way": "silent"}), is_over)
    reported = "the job process was killed by signal 9 and gave no reason"
    assert (state["phase"], state["error"]) == ("failed", reported)
    chinese = "作业进程被信号 9 终止，没有留下任何说明"
    assert state["failure"] == {"text": {"en": reported, "zh": chinese}, "detail": None}


def test_garbage_is_left_out_and_counted(host):
    state = when(host, host.start("tiny", {"way": "garbage"}), is_over)
    assert (state["phase"], state["dropped"]) == ("ended", 13)
    assert state["tables"]["counts"]["rows"][0][0] == "lost in transit"


@pytest.mark.parametrize("way", ["long-line", "flood"])
def test_whoever_tells_without_end_can_still_be_stopped_and_little_of_it_is_kept(host, way):
    run_id = host.start("tiny", {"way": way})
    when(host, run_id, lambda state: state["phase"] == "running")
    if way == "flood":
        state = when(host, run_id, lambda state: len(state["notes"]) == NOTES_MAX)
        assert len(state["plots"]["speed"]["s"]) <= POINTS_MAX
    host.stop(run_id)
    assert when(host, run_id, is_over)["phase"] == "stopped"


def test_wrong_requests_start_nothing(host):
    with pytest.raises(UnknownJob):
        host.start("no such job", {})
    with pytest.raises(ArgumentRefused):
        host.start("tiny", {"numbers": "x"})
    with pytest.raises(UnknownRun):
        host.stop("no such run")
    with pytest.raises(UnknownRun):
        host.state("no such run")
    assert host.runs() == []


def test_without_its_packages_nothing_starts_and_the_first_missing_one_is_named(host, monkeypatch):
    monkeypatch.setattr(host_module, "_PACKAGES", ("json", "no_such_package"))
    with pytest.raises(SparkPackageMissing, match="no_such_package"):
        host.start("tiny", {})


def test_keys_travel_in_the_environment_only(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSMQ_TOKEN", "the page's token")
    shown = (
        "import json, os, sys; own = {k: v for k, v in os.environ.items() if k.startswith('GLASSMQ')}; "
        "print(json.dumps({'event': 'failed', 'error': json.dumps([sys.argv, own])}))"
    )
    host = PipelineHost(PipelineSettings(tmp_path, "127.0.0.1:1", command=(sys.executable, "-c", shown)))
    run_id = host.start("tiny", {}, BrokerCredentials("somebody", "a secret"))
    words, environment = json.loads(when(host, run_id, is_over)["error"])
    host.close()
    assert "a secret" not in " ".join(words)
    assert environment == {"GLASSMQ_ACCESS_KEY": "somebody", "GLASSMQ_SECRET_KEY": "a secret"}
    assert "a secret" not in repr(BrokerCredentials("somebody", "a secret"))


def test_old_runs_are_forgotten_with_their_logs_and_only_the_last_are_shown_whole(host, monkeypatch):
    monkeypatch.setattr(host_module, "KEPT_MAX", 5)
    first = host.start("tiny", {"way": "fail"})
    log_file = host.state(first)["log_file"]
    when(host, first, is_over)
    os.makedirs(os.path.dirname(log_file), exist_ok=True)
    with open(log_file, "w"):
        pass
    for _ in range(5):
        when(host, host.start("tiny", {"way": "fail"}), is_over)
    with pytest.raises(UnknownRun):
        host.state(first)
    assert not os.path.exists(log_file)
    assert [run["is_whole"] for run in host.runs()] == [True] * 3 + [False] * 2


def test_a_record_keeps_so_much_and_no_more():
    record = RunRecord("r", tiny_job.DESCRIPTION, {}, "local[2]", 0)
    for number in range(max(BATCHES_MAX, POINTS_MAX) + 50):
        record.apply({"event": "batch", "batch": number, "rows": 2, "total_ms": 5})
        record.apply({"event": "point", "plot": "speed", "series": "s", "x": number, "y": 1})
        record.apply({"event": "point", "plot": "speed", "series": f"s{number}", "x": number, "y": 1})
    record.apply({"event": "table", "name": "counts", "rows": [["x" * 5_000, 1, 0.5, 0]] * 900})
    for number in range(UNITS_MAX + 1):
        record.apply({"event": "progress", "done": 1, "total": None, "unit": f"unit {number}"})
    queues = {f"broker-a:{number}": number for number in range(QUEUES_MAX - 1)}
    record.apply({"event": "offsets", "reached": {"first": queues, "second": queues}})
    state = record.whole()
    assert len(state["progress"]) == UNITS_MAX
    assert [len(state["reached"][topic]["broker-a"]) for topic in ("first", "second")] == [QUEUES_MAX - 1, 1]
    assert (len(state["batches"]), state["batches"][-1]["batch"]) == (BATCHES_MAX, 449)
    assert (state["batch_count"], state["row_count"]) == (450, 900)
    assert (len(state["plots"]["speed"]), len(state["plots"]["speed"]["s"])) == (12, POINTS_MAX)
    assert (len(state["tables"]["counts"]["rows"]), state["tables"]["counts"]["left_out"]) == (500, 400)
    assert state["tables"]["counts"]["rows"][0][0] == "x" * 1_000


def test_points_in_time_are_in_microseconds_however_a_job_writes_them():
    record = RunRecord("r", tiny_job.DESCRIPTION, {}, "local[2]", 0)
    for at in ("2026-11-22T04:00:00.250Z", "2026-11-22T12:00:00.250+08:00", None, "noon", "2026-11-22T04:00:00"):
        record.apply({"event": "batch", "at": at})
    record.apply({"event": "point", "plot": "speed", "series": "s", "x": 1_795_320_000_250, "y": 1})
    state = record.whole()
    assert [batch["at_us"] for batch in state["batches"]] == [1_795_320_000_250_000] * 2 + [None]
    assert (state["plots"]["speed"]["s"], state["dropped"]) == ([[1_795_320_000_250_000, 1]], 2)


@pytest.mark.parametrize("over", [RunPhase.ENDED, RunPhase.FAILED, RunPhase.STOPPED])
def test_nothing_follows_the_end(over):
    assert over.is_over
    for phase in RunPhase:
        with pytest.raises(IllegalStateChange):
            follow(over, phase)


def test_a_run_that_stops_does_not_run_again():
    with pytest.raises(IllegalStateChange, match="a run is stopping: running is not allowed"):
        follow(RunPhase.STOPPING, RunPhase.RUNNING)


def test_a_child_tells_no_more_lines_than_its_budget_allows(monkeypatch):
    asked = threading.Event()
    lines: list[bytes] = []

    class Budget:
        left = 5

        def __init__(self, per_second, burst, now):
            self.rate = per_second, burst

        def take(self, now):
            assert self.rate == (LINES_PER_SECOND, LINE_BURST)
            if not Budget.left:
                asked.set()
                return False
            Budget.left -= 1
            return True

    monkeypatch.setattr(child_process, "EventBudget", Budget)
    ended: list[int] = []
    child = ChildProcess([sys.executable, "-c", "print('x\\n' * 20)"], os.environ, lines.append, ended.append)
    try:
        assert asked.wait(60)
        assert lines == [b"x"] * 5
        Budget.left = 100
        assert child.wait(60)
    finally:
        child.stop()
    assert lines == [b"x"] * 20 + [b""]


def test_a_child_that_is_to_stop_is_read_to_its_end_without_a_budget(monkeypatch):
    asked = threading.Event()

    class Spent:
        def __init__(self, per_second, burst, now):
            pass

        def take(self, now):
            asked.set()
            return False

    monkeypatch.setattr(child_process, "EventBudget", Spent)
    lines: list[bytes] = []
    ended: list[int] = []
    endless = "while True: print('x' * 1000, flush=True)"
    child = ChildProcess([sys.executable, "-c", endless], os.environ, lines.append, ended.append)
    assert asked.wait(60)
    assert lines == []
    child.stop()
    assert child.wait(20)
    assert lines


def test_lines_over_the_bound_are_left_out_and_the_next_one_is_read():
    reading, writing = os.pipe()
    text = b"first\n" + b"x" * (LINE_MAX + 70_000) + b"\nsecond\nhalf"

    def write():
        with os.fdopen(writing, "wb") as stream:
            stream.write(text)

    thread = threading.Thread(target=write)
    thread.start()
    assert list(bounded_lines(reading)) == [b"first", b"second", b"half"]
    thread.join()
    os.close(reading)
