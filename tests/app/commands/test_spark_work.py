"""``glassmq lab run --spark`` and ``glassmq explore --spark``: what they refuse and find, and how they are stopped."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner

from app.command_line import main
from app.commands.lab import shared_work
from app.commands.lab.shared_work import LateSpark
from app.pipeline.child_process import kill_session, session_members
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]
#: Spark starts in seconds; on a busy machine, in minutes.
PATIENCE_S = 300


@pytest.fixture
def no_spark(monkeypatch):
    """Spark must not be started."""

    def started(master):
        raise AssertionError(f"Spark was started on {master}")

    monkeypatch.setattr(shared_work, "spark_session", started)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("lab", "run", "hello", "--spark", "local[1]", "--processes", "2"), "allowed: --spark without --processes"),
        (("lab", "run", "nothing-like-it", "--spark", "local[1]"), "nothing-like-it"),
        (("lab", "run", "hello", "--spark", "local[1]", "--seeds", "0"), "'--seeds'"),
        (
            ("lab", "run", "hello", "--spark", "local[1]", "--export-messages", "x"),
            "--export-messages excludes --spark",
        ),
        (
            ("explore", "two-consumers", "--spark", "local[1]", "--processes", "2"),
            "allowed: --spark without --processes",
        ),
        (("explore", "hello", "--spark", "local[1]"), "no ordered consumers"),
        (("explore", "two-consumers", "--spark", "local[1]", "--max-stalls", "7"), "allowed: 0 to 3"),
    ],
)
def test_wrong_arguments_are_refused_before_spark_starts(no_spark, arguments, problem):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code in (1, 2), result.output
    assert problem in result.output


def test_a_short_search_does_not_wait_for_spark(no_spark, monkeypatch):
    monkeypatch.setattr(shared_work, "SPARK_AFTER_S", math.inf)  # however slow this machine is
    arguments = ("explore", "two-consumers", "--max-stalls", "0", "--json")
    alone, shared = (
        json.loads(CliRunner().invoke(main, [*arguments, *more]).stdout) for more in ((), ("--spark", "local[1]"))
    )
    assert shared["schedules"] == alone["schedules"] > 0
    assert shared["is_complete"]


def test_work_that_takes_long_goes_on_on_spark_where_it_was(monkeypatch):
    done_here: list[int] = []
    done_there: list[int] = []

    def start(master):
        def spread(function, items: Sequence[int]):
            for index in reversed(range(len(items))):
                done_there.append(items[index])
                yield index, function(items[index])

        return spread

    monkeypatch.setattr(shared_work, "start_spread", lambda master, stack: start(master))
    now_s = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    with contextlib.ExitStack() as stack:
        late = LateSpark("local[1]", stack)
        found = []
        for index, result in late(partial(pow, 2), [5, 6, 7, 8]):
            if not done_there:
                done_here.append(index)
            now_s += shared_work.SPARK_AFTER_S / 2 + 1
            found.append((index, result))
        assert (done_here, done_there) == ([0, 1], [8, 7])
        assert sorted(found) == [(0, 32), (1, 64), (2, 128), (3, 256)]
        assert list(late(partial(pow, 2), [1])) == [(0, 2)]
        assert done_there == [8, 7, 1]


def test_without_pyspark_the_search_says_so_at_once(monkeypatch):
    monkeypatch.setattr("app.pipeline.host.missing_package", lambda: "pyspark")
    with pytest.raises(ClickException, match=r"pyspark is missing: pip install 'glassmq\[spark\]'"):
        LateSpark("local[1]", contextlib.ExitStack())


class Command:
    """``glassmq`` in a session of its own, as a terminal would start it."""

    def __init__(self, *arguments, prelude=""):
        program = f"{prelude}\nfrom app.command_line import main\nmain()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._watchdog = threading.Timer(300, kill_session, (self.process.pid,))

    def __enter__(self):
        self._watchdog.start()
        return self

    def __exit__(self, *_):
        self._watchdog.cancel()
        kill_session(self.process.pid)
        self.process.communicate()

    def interrupt(self):
        """Ctrl-C: everything that the terminal has in front gets it."""
        os.killpg(self.process.pid, signal.SIGINT)


def test_seeds_on_spark_end_with_the_figures_of_one_process_and_a_stopped_run_goes_on(spark_installed, tmp_path):
    scenario = tmp_path / "tiny.yaml"
    scenario.write_text(load_scenario("hello").text)
    run = ("lab", "run", str(scenario), "--seed", "1", "--faults", "random", "--seeds", "2000", "--chunk", "20")
    results = tmp_path / "results"

    def lines():
        path = results / "fleet.jsonl"
        return path.read_text().count("\n") - 1 if path.exists() else 0

    with Command(*run, "--spark", "local[1]", "--results", str(results)) as command:
        wait_until(lambda: lines() >= 2 or command.process.poll() is not None, "two lines of results", PATIENCE_S)
        command.interrupt()
        _, errors = command.process.communicate(timeout=120)
        assert command.process.returncode == 130, errors
        assert "Traceback" not in errors
        assert f"of 2,000 seeds; run the same command to continue; {results} keeps them" in errors
        wait_until(lambda: not session_members(command.process.pid), "the end of the session", PATIENCE_S)
    kept = lines()
    assert kept >= 2
    seeds = str(20 * (kept + 3))
    rest = [seeds if argument == "2000" else argument for argument in run]
    with Command(*rest, "--spark", "local[1]", "--results", str(results)) as command:
        output, errors = command.process.communicate(timeout=240)
    assert f"{20 * kept} of {seeds} seeds were already in {results}" in errors.replace(",", "")
    alone = CliRunner().invoke(main, [*rest, "--processes", "1"])
    assert (command.process.returncode, output.splitlines()[-1]) == (alone.exit_code, alone.stdout.splitlines()[-1])


def test_a_search_on_spark_finds_what_one_process_finds(spark_installed):
    arguments = ("explore", "bank-naive", "--json")
    prelude = "from app.commands.lab import shared_work\nshared_work.SPARK_AFTER_S = 0"
    with Command(*arguments, "--spark", "local[1]", prelude=prelude) as command:
        output, errors = command.process.communicate(timeout=240)
        assert "starting Spark on local[1]" in errors
        wait_until(lambda: not session_members(command.process.pid), "the end of the session", PATIENCE_S)
    alone = CliRunner().invoke(main, arguments)
    left_out = ("seconds", "search_cpu_seconds")
    shared, expected = (
        {name: value for name, value in json.loads(text).items() if name not in left_out}
        for text in (output, alone.stdout)
    )
    assert shared == expected
    assert command.process.returncode == alone.exit_code == 1
