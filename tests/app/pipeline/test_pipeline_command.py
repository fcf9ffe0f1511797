"""``glassmq pipeline`` before Spark starts, and what it prints."""

from __future__ import annotations

import io
import re

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.pipeline import make_command
from app.pipeline import job_process
from app.pipeline.cluster_options import cluster_options
from app.pipeline.connection import reachable, tls_options
from app.pipeline.terminal_report import ROWS_SHOWN, TerminalReport
from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs import runner
from engine.pipeline.jobs.delivery_audit.delivery_book import DeliveryBook
from engine.pipeline.jobs.delivery_audit.producer_book import ProducerBook
from engine.pipeline.jobs.delivery_audit.results import AuditReporter, findings_of
from engine.pipeline.jobs.registry import JOB_NAMES, describe
from engine.pipeline.jobs.report import ALL_ROWS
from engine.pipeline.source.cluster.cluster_options import CLUSTER_OPTIONS, ClusterOptions
from engine.pipeline.source.cluster.option_values import OptionValues
from engine.runtime.live.live_tls import ClientTls, ServerTls, TlsMode
from tests.engine.pipeline.jobs.delivery_audit.numbered_messages import Stored, plain_segments, with_offsets
from tests.support.pipeline.tiny_job import DESCRIPTION


def run(*words):
    return CliRunner().invoke(main, ["pipeline", *words])


def test_the_jobs_are_listed_with_what_they_answer():
    printed = run("list").output
    assert [name for name in JOB_NAMES if f"{name}: " not in printed] == []


@pytest.mark.parametrize("name", JOB_NAMES)
def test_every_parameter_of_a_job_is_an_option_with_its_help(name):
    printed = " ".join(run(name, "--help").output.split())
    for parameter in describe(name).parameters:
        assert f"--{parameter.name.replace('_', '-')}" in printed
        assert " ".join(parameter.help["en"].split())[:20] in printed


def test_a_wrong_argument_is_refused_by_the_name_of_its_option_before_spark_starts():
    answer = CliRunner().invoke(make_command(DESCRIPTION), ["--pause-ms", "1 parsec"])
    assert answer.exit_code == 2
    assert "--pause-ms: '1 parsec' is not allowed; allowed: a duration from" in answer.output


def test_an_unknown_job_is_answered_with_the_known_ones():
    answer = run("trafic")
    assert answer.exit_code == 2
    assert "there is no job 'trafic'; did you mean traffic? allowed: delivery-audit, " in answer.output


def test_a_setting_of_spark_has_a_name_and_a_value():
    answer = CliRunner().invoke(make_command(DESCRIPTION), ["--conf", "driver.memory=1g"])
    assert "'driver.memory' is not allowed; allowed: spark.NAME" in answer.output


def test_without_pyspark_one_line_says_what_to_install(monkeypatch):
    def load(name):
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark.sql")

    monkeypatch.setattr(runner, "load_job", load)
    with pytest.raises(JobFailed, match=r"pyspark.sql is missing: pip install 'glassmq\[spark\]'"):
        runner._load("traffic")


def test_progress_goes_to_the_one_stream_and_tables_to_the_other():
    now = [0.0]
    output, words = io.StringIO(), io.StringIO()
    report = TerminalReport(DESCRIPTION, output, words, lambda: now[0])
    report.note({"en": "Counting.", "zh": "计数。"})
    report.progress(1, 4, "messages")
    now[0] = 6.0
    report.progress(2, 4, "messages")
    report.batch({"batch": 3, "rows": 1200, "processed_rows_per_s": 5000.0, "total_ms": 130, "lag": 7})
    report.table("counts", [["lost\x1b[2J", 1234, 0.5, 1], ["kept", None, None, 0]], left_out=9)
    report.print_tables()
    report.print_tables()
    assert words.getvalue().splitlines() == ["Counting.", "2 of 4 messages (50 %)"]
    assert output.getvalue().splitlines() == [
        "",
        "Counts",
        "   KIND      NUMBER  SHARE  LOST",
        "!  lost·[2J  1234    50 %      1",
        "   kept      -       -         0",
        "... and 9 rows more",
    ]


def test_a_job_that_has_nothing_to_report_yet_says_what_it_does_and_for_how_long():
    """Also where the output is no terminal, every few seconds."""
    now, output, words = [0.0], io.StringIO(), io.StringIO()
    report = TerminalReport(describe("traffic"), output, words, lambda: now[0])
    for second in range(1, 13):
        now[0] = float(second)
        report.planning()
    report.progress(1, 4, "tasks")
    for second in range(13, 19):
        now[0] = float(second)
        report.working()
    assert words.getvalue().splitlines() == ["planning, 5 s", "planning, 10 s", "1 of 4 tasks (25 %), 15 s"]


def test_lines_of_json_have_all_rows_of_a_table_unless_fewer_are_wanted(monkeypatch):
    made = []

    class Process:
        def __init__(self, description, given, log_file, *, json_rows):
            made.append(json_rows)

        def give_way(self, niceness):
            pass

        def listen_to_signals(self, *, ends_with_stdin):
            pass

        def run(self, *_):
            pass

    monkeypatch.setattr(job_process, "JobProcess", Process)
    for words in ((), ("--json",), ("--json", "--max-rows", "7")):
        assert CliRunner().invoke(make_command(DESCRIPTION), words).exit_code == 0
    assert made == [None, ALL_ROWS, 7]


def test_at_a_terminal_no_kind_of_finding_hides_another():
    output = io.StringIO()
    report = TerminalReport(describe("delivery-audit"), output, io.StringIO())
    book = DeliveryBook(("T",))
    producer = book.producers["p", "T"] = ProducerBook("p", "T", 0)
    # Every second number is missing, and one is stored twice.
    (segment,) = plain_segments(with_offsets([Stored("p", number, 0) for number in (*range(0, 120, 2), 0)]))
    producer.add(segment)
    AuditReporter(report).report(book, None, findings_of(book, None, report.rows_max))
    report.print_tables()
    _, findings = output.getvalue().split("Findings\n")
    assert re.findall(r"lost|duplicated", findings) == ["lost"] * (ROWS_SHOWN - 1) + ["duplicated"]
    assert findings.splitlines()[ROWS_SHOWN + 1] == "... and 20 rows more"


def test_the_options_of_the_command_line_are_those_of_the_source(tmp_path):
    from app.remote.cluster_access import ClusterAccess

    ca = tmp_path / "ca.pem"
    access = ClusterAccess("somebody", "a secret", ClientTls(ca=ca, verify=False))
    options = cluster_options(("a:1", "b:2"), access)
    read = ClusterOptions.parse(OptionValues(options, CLUSTER_OPTIONS))
    assert read.name_servers == ("a:1", "b:2")
    assert (read.access_key, read.secret_key, read.tls) == ("somebody", "a secret", access.tls)
    assert cluster_options(("a:1",), ClusterAccess()) == {"nameServer": "a:1"}


def test_a_server_is_reached_where_it_listens_and_by_tls_where_it_takes_nothing_else(tmp_path):
    assert [reachable(address) for address in ("0.0.0.0:1", "10.0.0.7:2", "[::]:3")] == [
        "127.0.0.1:1",
        "10.0.0.7:2",
        "[::1]:3",
    ]
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    assert tls_options(ServerTls(TlsMode.PERMISSIVE, certificate, key)) == ()
    assert f"--tls-ca={certificate}" in tls_options(ServerTls(TlsMode.ENFORCING, certificate, key))
