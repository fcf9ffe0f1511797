"""The run that a command is given, and what is said when it is not the recorded one."""

from __future__ import annotations

import dataclasses

import pytest

from app.commands.lab.chosen_run import chosen_run
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"is_changed": True}, "The scenario has changed since the link was made"),
        ({"time_us": 1}, "lead elsewhere here than when the link was made"),
    ],
)
def test_a_link_to_another_run_is_reported_and_followed(monkeypatch, capsys, changes, said):
    with LabRun(load_scenario("hello")) as run:
        run.run_events(20)
        recording = dataclasses.replace(run.recording(), **changes)
    monkeypatch.setattr("engine.lab.run.recording.parse_link", lambda _: recording)
    assert chosen_run("hello", "a link").event == 20
    error = capsys.readouterr().err
    assert said in error
    assert bool(said) == bool(error)
