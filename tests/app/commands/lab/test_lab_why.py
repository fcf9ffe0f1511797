"""``glassmq lab why``: the answers as lines, and what it refuses."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from app.command_line import main
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.why.why_run import why


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["lab", "why", *arguments])


def test_the_answer_is_a_sentence_and_the_events_behind_it():
    done = ask("lost-offset-commit", "order-3")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == "order-3 of lost-offset-commit, as of 30.000 s (event 945)"
    assert lines[2] == "Why twice? (shop: commit-lost-and-died)"
    assert lines[3].startswith(
        "  C1 had consumed order-3, but the frame with its offset was lost and then the process died;"
    )
    assert [line.split()[2:4] for line in lines[4:9]] == [
        ["#461", "B1"],
        ["#477", "C1"],
        ["#492", "C1"],
        ["#620", "C1"],
        ["#641", "C1"],
    ]


def test_what_comes_is_distinguished():
    done = ask("killed-owner-waits-60s", "order-30", "--at-ms", "20000")
    before, _, after = done.output.partition("  What happens next without interference:\n")
    assert "(shop: lock)" in before
    assert "B1 grants the lock to C2" in after


def test_commands_and_settings_make_the_run_that_is_asked_about():
    done = ask("start-page", "ann4", "--command", "5650 lock-switch lock=broker-lock on=false", "--json")
    assert json.loads(done.output)["answers"][0]["cause"] == "broker-lock-off"
    slow = ask("hello", "hello-1", "--set", "P1.send_msg_timeout_ms=4000", "--json")
    assert slow.exit_code == 0, slow.output


def test_a_link_leads_to_its_run():
    with LabRun(load_scenario("hello")) as run:
        run.run_to_time(6_000_000)
        link, expected = run.link(), why(run.recording(), "hello-1").to_dict()
    for form in (link, f"http://127.0.0.1:8000/lab/hello#{link}"):
        assert json.loads(ask("hello", "hello-1", "--link", form, "--json").output) == json.loads(json.dumps(expected))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("hello", "nobody-sent-this"), "no message with that key was sent"),
        (("hello", "hello-1", "--command", "soon crash B1"), "for example 9000 crash B1"),
        (("hello", "hello-1", "--command", "1 crash B1 B2"), "'B2' is not allowed; allowed: FIELD=VALUE"),
        (("hello", "hello-1", "--command", "1 crash Q9"), "Invalid value for --command: there is no node 'Q9'"),
        (("hello", "hello-1", "--set", "C1.pullBatchSize"), "allowed: NODE.SETTING=VALUE"),
        (("hello", "hello-1", "--set", "C1.pullBatchSize=0"), "Invalid value for --set C1.pullBatchSize: "),
        (("hello", "hello-1", "--set", "C1.pullBatchSize=0"), "allowed: an integer from 1 to"),
        (("hello", "hello-1", "--set", f"C1.pullBatchSize={'9' * 5_000}"), "allowed: a finite number"),
        (("hello", "hello-1", "--command", f"1 slow-fsync B1 ms={'9' * 5_000}"), "ms: "),
        (("hello", "hello-1", "--command", f"1 slow-fsync B1 ms={'[' * 100_000}"), "ms: "),
        (("hello", "hello-1", "--command", "1 slow-fsync B1 ms=NaN"), "ms: "),
        (("hello", "hello-1", "--link", "x"), "Invalid value for --link: "),
        (
            ("hello", "hello-1", "--link", "x", "--seed", "2"),
            "--link excludes --seed: it describes the whole run; allowed: --link without --at-ms, --seed",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments, problem):
    done = ask(*arguments)
    assert done.exit_code == (1 if "nobody-sent-this" in arguments else 2)
    assert problem in done.output
    assert "Traceback" not in done.output


def test_where_nobody_consumes_there_is_nothing_to_explain():
    done = ask("majority-log", "order-3")
    assert "no group consumes there" in done.output
