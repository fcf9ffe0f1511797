"""Every scenario does what its golden file says, whatever PYTHONHASHSEED is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.lab.scenario.scenario_files import scenario_names
from tests.lab.golden_journal import FOLDER, file_of, play

ROOT = Path(__file__).parents[2]
_PLAY_ALL = """
import json, logging
from engine.lab.scenario.scenario_files import scenario_names
from tests.lab.golden_journal import play
logging.disable(logging.CRITICAL)
print(json.dumps({name: play(name) for name in scenario_names()}))
"""


def play_all(hash_seed: str) -> dict[str, dict]:
    """All scenarios, played in a fresh interpreter."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _PLAY_ALL], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    played: dict[str, dict] = json.loads(done.stdout)
    return played


@pytest.fixture(scope="module")
def played() -> dict[str, dict]:
    return play_all("1")


@pytest.fixture(scope="module")
def played_again() -> dict[str, dict]:
    return play_all("4711")


@pytest.mark.thorough  # that the golden files were written under other hash seeds tells nearly as much
@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_does_the_same_under_every_hash_seed(name, played, played_again):
    assert played[name]["journal_hash"] == played_again[name]["journal_hash"]
    assert played[name] == played_again[name]


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_does_what_its_golden_file_says(name, played):
    path = file_of(name)
    assert path.exists(), f"python -m tests.lab.golden_journal {name}  writes it"
    golden, now = json.loads(path.read_text(encoding="utf-8")), played[name]
    assert now["violations"] == golden["violations"]
    assert now["end"] == golden["end"]
    assert now["story"] == golden["story"]
    assert now | {"python": golden["python"]} == golden, (
        f"python -m tests.lab.golden_journal {name}  if this is what it should do now"
    )


def test_there_is_no_golden_file_without_a_scenario():
    assert sorted(path.stem for path in FOLDER.rglob("*.json")) == scenario_names()


def test_at_least_five_scenarios_are_golden():
    assert len(list(FOLDER.rglob("*.json"))) >= 5


def test_a_scenario_can_be_played_twice_in_one_process():
    assert play("hello") == play("hello")
