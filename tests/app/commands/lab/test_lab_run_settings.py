"""``glassmq lab run --set``: a rule that is off is part of what is found, and of the link that replays it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from app.command_line import main
from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun

RULE = "raft_peers.checks_log_is_up_to_date=false"
#: Its faults kill the only peers that have everything.
SEED = "30"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["lab", "run", *arguments, "--processes", "1"])


def test_without_the_rule_the_seed_loses_what_was_acknowledged_and_its_link_replays_that():
    with_rule = run("majority-log", "--seed", SEED, "--faults", "random")
    assert with_rule.exit_code == 0, with_rule.output
    found = run("majority-log", "--seed", SEED, "--faults", "random", "--set", RULE)
    assert found.exit_code == 1
    assert "leader-completeness (lost write)" in found.output
    (line,) = [line for line in found.output.splitlines() if "/lab/majority-log#" in line]
    with LabRun.replay(parse_link(line.partition("#")[2])) as again:
        assert {"leader-completeness", "acknowledged-commands-are-committed"} <= {
            violation.checker for violation in again.violations
        }
        settings = [one.command for one in again.commands if one.command.kind == "setting"]
    assert [(one.target, one.value["value"]) for one in settings] == [("R1", False), ("R2", False), ("R3", False)]


def test_results_of_another_setting_are_not_mixed(tmp_path):
    folder = ["--results", str(tmp_path)]
    assert run("majority-log", "--seed", "1", *folder).exit_code == 0
    mixed = run("majority-log", "--seed", "1", *folder, "--set", RULE)
    assert mixed.exit_code == 1
    assert "Error" in mixed.output


@pytest.mark.parametrize(("text", "word"), [("R1.nothing=1", "nothing"), ("R9.pre_vote=false", "R9"), ("R1", "NODE")])
def test_a_setting_that_is_none_is_refused(text, word):
    refused = run("majority-log", "--set", text)
    assert refused.exit_code == 2
    assert word in refused.output
