"""The scenarios that come with GlassMQ: ``tutorials/scenarios/SHELF/*.yaml``, and those of the lessons.

The one file of the lab that reads files, and only these: a name is a word that cannot lead elsewhere. A lesson's
scenario is ``tutorials/01-first-message/scenario.yaml``, and is called by the name of its folder.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from engine.lab.scenario.errors import RecordingRefused, UnknownScenario
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_text import parse_scenario

NAME_MAX_LENGTH = 60
#: Letters of any language: a file's name becomes a scenario's.
_SCENARIO_NAME = re.compile(rf"[^\W_][\w-]{{0,{NAME_MAX_LENGTH - 1}}}")

_PROJECT = Path(__file__).resolve().parent.parent.parent.parent
_PRESET = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
#: ``01-first-message``: the number says in which order lessons are read.
_LESSON_FOLDER = re.compile(rf"\d\d-{_PRESET.pattern}")


def tutorials_folder() -> Path:
    """A wheel carries the texts inside the package ``app``, a source tree beside it."""
    bundled = _PROJECT / "app" / "bundled"
    root = bundled if bundled.is_dir() else _PROJECT
    return root / "tutorials"


def lesson_scenario_names() -> list[str]:
    """The names of the scenarios that belong to a lesson, in the lessons' order."""
    files = tutorials_folder().glob("*/scenario.yaml")
    return sorted(path.parent.name for path in files if _LESSON_FOLDER.fullmatch(path.parent.name))


def shelved_scenario_names() -> dict[str, list[str]]:
    """Shelf -> the names of the scenarios on it, which stand for themselves. A shelf is a folder of ``scenarios``."""
    shelves = (tutorials_folder() / "scenarios").iterdir()
    return {shelf.name: sorted(path.stem for path in shelf.glob("*.yaml")) for shelf in sorted(shelves)}


def preset_scenario_names() -> list[str]:
    """The names of those that stand for themselves, sorted."""
    return sorted(name for names in shelved_scenario_names().values() for name in names)


def scenario_names() -> list[str]:
    """The names of all scenarios, sorted."""
    return sorted([*preset_scenario_names(), *lesson_scenario_names()])


def scenario_text(name: str) -> str:
    """The text of one. Raises :class:`UnknownScenario` with the names there are."""
    try:
        if _LESSON_FOLDER.fullmatch(name):
            return (tutorials_folder() / name / "scenario.yaml").read_text(encoding="utf-8")
        if _PRESET.fullmatch(name):
            for path in (tutorials_folder() / "scenarios").glob(f"*/{name}.yaml"):
                return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        pass
    raise UnknownScenario("refusal.no_scenario", name=name, known=", ".join(scenario_names()))


def load_scenario(name: str) -> Scenario:
    """One, parsed. Raises :class:`UnknownScenario`, :class:`~engine.lab.scenario.errors.ScenarioError`."""
    return _parsed(scenario_text(name), name)


def check_scenario_name(name: str) -> str:
    """``name``, which becomes a part of addresses and of files' names. Raises :class:`RecordingRefused`."""
    if not _SCENARIO_NAME.fullmatch(name):
        raise RecordingRefused("refusal.bad_name", name=name, limit=NAME_MAX_LENGTH)
    return name


def read_scenario_file(path: Path) -> Scenario:
    """The scenario of a user's file. Raises ``OSError``, ``UnicodeDecodeError``, ``LabError``."""
    return parse_scenario(path.read_text(encoding="utf-8"), check_scenario_name(path.stem))


@lru_cache(maxsize=128)
def _parsed(text: str, name: str) -> Scenario:
    """Nobody changes a scenario, so a text that was read before is not read again: a list shows all there are."""
    return parse_scenario(text, name)
