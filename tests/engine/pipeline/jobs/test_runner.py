"""A job from start to end, or to its stop, on the tests' session."""

from __future__ import annotations

import re
import threading
import time

import pytest

from engine.pipeline.errors import JobFailed, PipelineError, UnknownJob, WrongArgument
from engine.pipeline.jobs import job, registry, runner
from engine.pipeline.jobs.runner import run_job
from tests.support.live.scripted_broker import ScriptedBroker
from tests.support.pipeline import tiny_job
from tests.support.pipeline.memory_report import MemoryReport


@pytest.fixture(autouse=True)
def with_the_tiny_job(monkeypatch):
    monkeypatch.setattr(registry, "JOB_NAMES", registry.JOB_NAMES)  # restored in the end
    tiny_job.register()


def run(spark, arguments, stop=None, report=None):
    report = report or MemoryReport()
    run_job("tiny", arguments, {}, "local[2]", report, stop or threading.Event(), session=spark)
    return report


def test_a_job_reports_what_it_finds_and_leaves_the_session_to_its_owner(spark):
    report = run(spark, {"numbers": "70"})
    assert report.tables["counts"][0] == ["sevens", 210, 0.5, 0]
    assert report.notes == [{"en": "Counting.", "zh": "中文Counting."}]
    assert spark.range(3).count() == 3


def test_a_stream_goes_on_until_it_is_stopped_and_every_batch_is_reported(spark):
    stop = threading.Event()

    class StoppingReport(MemoryReport):
        def batch(self, progress):
            super().batch(progress)
            if len(self.batches) == 2:
                stop.set()

    report = run(spark, {"follow": True}, stop, StoppingReport())
    assert [one["batch"] for one in report.batches[:2]] == [0, 1]
    assert spark.streams.active == []


def test_a_stop_cancels_what_spark_computes(spark):
    stop = threading.Event()

    class StoppingReport(MemoryReport):
        def progress(self, done, total, unit):
            stop.set()

    report = StoppingReport()
    run(spark, {"numbers": 10**12}, stop, report)
    assert "counts" not in report.tables
    ends_at = time.monotonic() + 60
    while spark.sparkContext.statusTracker().getActiveJobsIds():
        assert time.monotonic() < ends_at, "Spark still computes"


def test_a_failed_job_says_why_in_one_line(spark):
    with pytest.raises(JobFailed, match=r"^the job was told to fail$"):
        run(spark, {"way": "fail"})
    with pytest.raises(JobFailed, match=r"^\[USER_RAISED_EXCEPTION\] no such thing$") as caught:
        run(spark, {"way": "crash"})
    assert caught.value.sentence["zh"] == "Spark 执行失败。"
    assert caught.value.detail == "[USER_RAISED_EXCEPTION] no such thing"


def test_what_a_job_says_of_a_batch_that_fails_is_reported_in_both_languages(spark):
    with pytest.raises(JobFailed, match=r"^tiny is down: its data cannot be read$") as caught:
        run(spark, {"way": "fail", "follow": True})
    assert (caught.value.sentence["zh"], caught.value.detail) == ("tiny 已停机：无法读取其中的内容", None)


@pytest.mark.parametrize("failures", [0, 3])
def test_a_stream_whose_planner_did_not_start_in_time_is_started_again(spark, tmp_path, failures):
    """Spark gives the planner's Python process 10 s, which a busy machine may exceed."""
    job_run, started = following_run(spark, failures)
    job_run.follow(spark.readStream.format("rate").load(), print, str(tmp_path))
    assert len(started) == failures + 1
    assert len(job_run.report.notes) == failures


@pytest.mark.parametrize(("failures", "error"), [(4, job.PLANNER_TOO_SLOW), (1, "something else")])
def test_a_stream_that_fails_for_another_reason_or_too_often_ends_the_job(spark, tmp_path, failures, error):
    job_run, started = following_run(spark, failures, error)
    with pytest.raises(RuntimeError, match=error):
        job_run.follow(spark.readStream.format("rate").load(), print, str(tmp_path))
    assert len(started) == failures


def test_failed_starts_count_from_one_again_after_a_micro_batch(spark, tmp_path):
    """A stream that runs for weeks meets a busy hour now and then."""
    job_run, started = following_run(spark, 9)
    watch = job_run.watch

    def watch_a_micro_batch(query):
        if len(started) in (2, 5):
            job_run._call(lambda *_: None, spark.range(1), 0)
        watch(query)

    def refuse(*_):
        raise RuntimeError("a micro-batch that Spark begins before its query is stopped must not count")

    job_run.watch = watch_a_micro_batch
    with pytest.raises(RuntimeError, match=job.PLANNER_TOO_SLOW):
        job_run.follow(spark.readStream.format("rate").load(), refuse, str(tmp_path))
    assert [note["en"].partition("try ")[2][0] for note in job_run.report.notes] == [*"12123123"]
    assert len(started) == 9


def following_run(spark, failures, error=job.PLANNER_TOO_SLOW):
    """A run whose first queries fail, and the list of its queries."""
    started = []

    def watch(query):
        started.append(query)
        query.stop()
        if len(started) <= failures:
            raise RuntimeError(f"[PYTHON_DATA_SOURCE_ERROR] {error}.")

    report = MemoryReport()
    run = job.JobRun(spark, {"follow": True, "trigger_ms": 100}, {}, report, watch)
    return run, started


@pytest.mark.parametrize("name", sorted(set(registry.JOB_NAMES) - {"simulation-fleet"}))
def test_a_cluster_that_is_away_or_lacks_a_topic_is_reported_before_spark_starts(name, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_end_spark", lambda: None)  # the session is the tests'
    required = {"folder": str(tmp_path), "group": "g", "low_priority": "low", "topics": "Refunds"}
    parameters = {parameter.name: parameter for parameter in registry.describe(name).parameters}
    arguments = {name: value for name, value in required.items() if name in parameters}

    def run(address):
        run_job(name, arguments, {"nameServer": address}, "no master at all", MemoryReport(), threading.Event())

    with pytest.raises(JobFailed, match="ROCKETMQ_NAME_SERVER_AWAY"):
        run("127.0.0.1:1")
    if parameters["topics"].may_be_missing:
        del arguments["topics"]
        with pytest.raises(JobFailed, match="ROCKETMQ_NAME_SERVER_AWAY"):
            run("127.0.0.1:1")
    else:
        with ScriptedBroker() as broker, pytest.raises(JobFailed, match=r"ROCKETMQ_UNKNOWN_TOPIC.*'Refunds'"):
            run(broker.address)


def test_keys_are_hidden_wherever_spark_writes_settings_and_options(monkeypatch, tmp_path):
    settings: dict[str, str] = {}
    monkeypatch.setattr(
        "engine.pipeline.session.make_session", lambda name, master, folder, conf: settings.update(conf)
    )
    runner._start_spark("tiny", "local[1]", tmp_path, {"spark.x": "y"})
    assert settings["spark.x"] == "y"
    for regex in (settings["spark.redaction.regex"], settings["spark.sql.redaction.options.regex"]):
        for name in ("accessKey", "secretKey", "securityToken", "GLASSMQ_SECRET_KEY", "GLASSMQ_ACCESS_KEY"):
            assert re.search(regex, name), name
        assert not re.search(regex, "topic")


#: Arguments of jobs that pass the checks of their kinds, and what is said of them.
WRONG = [
    ("delivery-audit", {"topics": "A", "starting_offsets": "latest"}, "requires follow"),
    ("delivery-audit", {"input_folder": "x", "follow": True}, "follow requires a broker"),
    ("delivery-audit", {"topics": "A", "groups": "g", "judge_groups": False}, "leave out one of the two"),
    ("delivery-audit", {"topics": "A", "groups": "g@B"}, "B is not one of the audited topics: A"),
    ("transaction-reconciliation", {"starting_offsets": "latest"}, "starting_offsets"),
    ("transaction-reconciliation", {"topics": "RMQ_SYS_TRANS_HALF_TOPIC"}, "clients cannot send to these topics"),
    ("transaction-reconciliation", {"bank_folder": "/nowhere"}, "bank_folder: /nowhere/icbc.db does not exist"),
    ("traffic", {"topics": "A", "starting_offsets": "nonsense"}, "option 'startingOffsets': .*earliest"),
    (
        "traffic",
        {"topics": "A", "starting_offsets": '{"B": {"broker-a:0": 1}}'},
        "B broker-a:0 is not among",
    ),
    ("traffic", {"topics": "A", "groups": "b@d na me"}, "groups: 'b@d na me' .* letters, digits"),
    ("archive", {"topics": "A", "folder": "x", "starting_offsets": "{"}, "option 'startingOffsets': .*earliest"),
    ("archive", {"topics": "A", "folder": "x", "key": "nonsense"}, "nonsense"),
    (
        "backlog-relief",
        {"topics": "A", "folder": "x", "group": "g", "low_priority": "level="},
        "low_priority: 'level='",
    ),
    ("simulation-fleet", {"scenario": "nope"}, "nope"),
]


@pytest.mark.parametrize(("name", "arguments", "reported"), WRONG)
def test_arguments_that_do_not_go_together_are_refused_before_anything_starts(name, arguments, reported, monkeypatch):
    monkeypatch.setattr(runner, "_end_spark", lambda: None)  # the session is the tests'
    cluster = {"nameServer": "127.0.0.1:1"}
    with pytest.raises(PipelineError, match=reported):
        run_job(name, arguments, cluster, "no master at all", MemoryReport(), threading.Event())


def test_every_job_has_such_arguments():
    assert {name for name, *_ in WRONG} == set(registry.JOB_NAMES) - {"tiny"}


def test_wrong_arguments_and_names_are_refused_before_spark_starts():
    with pytest.raises(WrongArgument, match="numbers"):
        run_job("tiny", {"numbers": "x"}, {}, "no master at all", MemoryReport(), threading.Event())
    with pytest.raises(UnknownJob, match="tinny"):
        run_job("tinny", {}, {}, "no master at all", MemoryReport(), threading.Event())
