"""The run that a command is given, and what is said when it is not the recorded one."""

from __future__ import annotations

import dataclasses

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.lab.chosen_run import chosen_run
from app.foundation.translator import translate
from engine.lab.run.recording import TimedCommand
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_files import load_scenario


def recorded(monkeypatch, **changes):
    """A recording of 20 events that every link leads to."""
    with LabRun(load_scenario("hello")) as run:
        run.run_events(20)
        recording = dataclasses.replace(run.recording(), **changes)
    monkeypatch.setattr("engine.lab.run.recording.parse_link", lambda _: recording)
    return recording


DIFFERENCES = pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, None),
        ({"is_changed": True}, "changed_scenario"),
        ({"is_changed": True, "time_us": 1}, "changed_scenario"),
        ({"time_us": 1}, "other_version"),
        ({"event": 400_000}, "other_version"),
    ],
)


@DIFFERENCES
@pytest.mark.parametrize("to_s", [None, 0.001, 6])
def test_a_link_to_another_run_is_reported_once_and_followed(monkeypatch, capsys, changes, key, to_s):
    recorded(monkeypatch, **changes)
    run = chosen_run("hello", "a link", to_s=to_s)
    assert capsys.readouterr().err == (translate("en", f"lab.differs.{key}") + "\n" if key else "")
    if to_s is not None:
        assert run.time_us == to_s * 1_000_000
    elif "event" not in changes:
        assert run.event == 20


@DIFFERENCES
def test_questions_about_a_link_to_another_run_report_it(monkeypatch, changes, key):
    recorded(monkeypatch, **changes)
    done = CliRunner().invoke(main, ["lab", "why", "hello", "hello-1", "--link", "a link"])
    assert done.stderr == (translate("en", f"lab.differs.{key}") + "\n" if key else "")


def test_commands_after_the_place_of_a_link_are_kept(monkeypatch):
    crash = TimedCommand(60, 10_000_000, Command("crash", "B1", {}))
    recorded(monkeypatch, commands=(crash,))
    assert chosen_run("hello", "a link").commands == (crash,)
