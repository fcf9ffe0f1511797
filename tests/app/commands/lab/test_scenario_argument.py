"""A scenario that a command cannot have: which one, and why, and the exit code of a wrong argument."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from app.command_line import main

COMMANDS = [
    "lab run {name}",
    "lab why {name} A",
    "lab film {name} -o film.gif",
    "lab export {name}",
    "lab study compare {name} --set C1.pullBatchSize=1",
    "lab study crash-points {name}",
    "lab study duplicates {name}",
    "explore {name}",
]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("nowhere", None, "there is no scenario"),
        ("nowhere.yaml", None, "No such file"),
        ("bytes.yaml", b"\xff\xfe", "line 1: this is not text in UTF-8"),
        ("list.yaml", b"- 1", "must be a mapping"),
        ("wrong.yaml", b"nodes: 3", "line 1"),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_scenario_that_cannot_be_read_is_a_wrong_argument(tmp_path, monkeypatch, command, name, content, problem):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = CliRunner().invoke(main, command.format(name=name).split())
    assert done.exit_code == 2, done.output
    assert name in done.output
    assert problem in done.output
