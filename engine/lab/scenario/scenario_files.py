"""The scenarios that come with GlassMQ: ``tutorials/scenarios/SHELF/*.yaml``, and those of the lessons.

This is the only module of the lab that reads files, and only these: a name is a word that cannot lead elsewhere. A
lesson's scenario is ``tutorials/01-first-message/scenario.yaml``, and has the name of its folder.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from engine.lab.scenario.errors import RecordingRefused, ScenarioError, UnknownScenario
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_text import parse_scenario

NAME_MAX_LENGTH = 60
#: Letters of any language: a file's name becomes a scenario's.
_SCENARIO_NAME = re.compile(rf"[^\W_][\w-]{{0,{NAME_MAX_LENGTH - 1}}}")

_PROJECT = Path(__file__).resolve().parent.parent.parent.parent
_PRESET = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
#: ``01-first-message``: the number gives the order of the lessons.
_LESSON_FOLDER = re.compile(rf"\d\d-{_PRESET.pattern}")


def tutorials_folder() -> Path:
    """Return the folder of the tutorials. A wheel has it inside the package ``app``, a source tree next to it."""
    bundled = _PROJECT / "app" / "bundled"
    root = bundled if bundled.is_dir() else _PROJECT
    return root / "tutorials"


def lesson_scenario_names() -> list[str]:
    """Return the names of the lessons' scenarios, in the lessons' order."""
    files = tutorials_folder().glob("*/scenario.yaml")
    return sorted(path.parent.name for path in files if _LESSON_FOLDER.fullmatch(path.parent.name))


def shelved_scenario_names() -> dict[str, list[str]]:
    """Return shelf -> the names of its scenarios, which do not belong to a lesson. A shelf is a folder of
    ``scenarios``.
    """
    shelves = (tutorials_folder() / "scenarios").iterdir()
    return {shelf.name: sorted(path.stem for path in shelf.glob("*.yaml")) for shelf in sorted(shelves)}


def preset_scenario_names() -> list[str]:
    """Return the names of those that do not belong to a lesson, sorted."""
    return sorted(name for names in shelved_scenario_names().values() for name in names)


def scenario_names() -> list[str]:
    """Return the names of all scenarios, sorted."""
    return sorted([*preset_scenario_names(), *lesson_scenario_names()])


def scenario_text(name: str) -> str:
    """Return the text of a scenario. Raises :class:`UnknownScenario` with the existing names."""
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
    """Return a scenario, parsed. Raises :class:`UnknownScenario`,
    :class:`~engine.lab.scenario.errors.ScenarioError`.
    """
    return _parsed(scenario_text(name), name)


def check_scenario_name(name: str) -> str:
    """Return ``name``, which becomes part of addresses and of file names. Raises :class:`RecordingRefused`."""
    if not _SCENARIO_NAME.fullmatch(name):
        raise RecordingRefused("refusal.bad_name", name=name, limit=NAME_MAX_LENGTH)
    return name


def read_scenario_file(path: Path) -> Scenario:
    """Return the scenario of a user's file. Raises ``OSError``, ``LabError``."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ScenarioError(1, "", "this is not text in UTF-8") from None
    return parse_scenario(text, check_scenario_name(path.stem))


@lru_cache(maxsize=128)
def _parsed(text: str, name: str) -> Scenario:
    """Parse a text. Cached, as scenarios are immutable: a list shows all of them."""
    return parse_scenario(text, name)
