"""What the lab refuses is said in both languages."""

import pickle
import re

import pytest

from engine.lab.run.recording import parse_export, parse_link
from engine.lab.scenario.command import COMMANDS, parse_command
from engine.lab.scenario.errors import CommandRefused, RecordingRefused, ScenarioError
from engine.lab.scenario.scenario_files import scenario_text

CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.mark.parametrize(
    "command",
    [
        7,
        {"kind": "x"},
        {"kind": "crash"},
        {"kind": "crash", "target": "B1", "more": 1},
        {"kind": "clock-skew", "target": "B1", "ms": "x"},
        {"kind": "link-loss", "target": "A->B", "ratio": 2},
        {"kind": "partition", "left": [], "right": ["B1"]},
        {"kind": "listener", "target": "C1", "result": "maybe"},
        {"kind": "heal", "target": "B1"},
    ],
)
def test_a_malformed_command_is_refused_in_both_languages(command):
    with pytest.raises(CommandRefused) as caught:
        parse_command(command)
    assert str(caught.value) == caught.value.text["en"]
    assert CHINESE.search(caught.value.text["zh"])
    assert not CHINESE.search(caught.value.text["en"])


@pytest.mark.parametrize(
    "error", [CommandRefused("refusal.line", line=7), ScenarioError(7, "nodes.C1", "no such role")]
)
def test_a_refusal_in_another_process_arrives_as_it_is(error):
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error)
    assert vars(arrived) == vars(error)
    assert str(arrived) == str(error)


def test_a_refusal_inside_another_one_keeps_its_languages():
    at = {"event": 0, "time_us": 0}
    commands = [{**at, "command": {"kind": "x"}}]
    export = {"format": "glassmq-lab-run", "version": 1, "scenario": "x", "commands": commands, **at}
    with pytest.raises(RecordingRefused) as caught:
        parse_export({**export, "text": scenario_text("hello"), "seed": 1, "journal_hash": "", "python": ""})
    assert caught.value.text["en"].startswith("command 1: command.kind: 'x' is not allowed; allowed: ")
    assert caught.value.text["zh"].startswith("第 1 个命令：command.kind：不能是 'x'；允许：")
    assert all(kind in caught.value.text["zh"] for kind in COMMANDS)


def test_a_link_that_cannot_be_read_says_so_in_both_languages():
    with pytest.raises(RecordingRefused) as caught:
        parse_link("!!")
    assert CHINESE.search(caught.value.text["zh"])


def test_an_error_of_a_scenario_names_its_line_in_both_languages():
    error = ScenarioError(12, "nodes.C1.listener.result", "'maybe' is not allowed")
    assert str(error) == "line 12, nodes.C1.listener.result: 'maybe' is not allowed"
    assert error.text["zh"].startswith("第 12 行，nodes.C1.listener.result")
