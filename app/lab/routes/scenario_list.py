"""The list of scenarios at ``/lab``: its shelves, the text and pictures of each row, and the text that searches
find.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from app.foundation.translator import translate
from app.glossary.glossary import searched_text
from app.pictures.scenario_pictures import picture_addresses
from engine.lab.scenario.scenario import LANGUAGES, Breaks, Scenario
from engine.lab.scenario.scenario_files import load_scenario, shelved_scenario_names

if TYPE_CHECKING:
    from app.picture.pages.lab import ScenarioPictures, ScenarioRow

#: The shelves of the list, easiest first: folders of ``tutorials/scenarios``, named ``lab.shelf.`` in the texts.
SHELVES = (
    "basics",
    "order",
    "retry",
    "transactions",
    "two-phase",
    "sending",
    "filters",
    "backlog",
    "semantics",
    "idempotence",
    "storage",
    "replication",
    "kafka-replication",
    "reports",
)
#: The scenarios for a newcomer.
START_HERE = ("hello", "three-locks", "bank-transaction")
#: What the list may be narrowed to, in this order.
BREAKS = tuple(word.value for word in Breaks)


def scenario_shelves(static_folder: Path) -> dict[str, list[ScenarioRow]]:
    """Return shelf -> its scenarios, in the order of their ``order`` fields.

    Everything is read again: scenarios are files.
    """
    names = shelved_scenario_names()
    return {shelf: [_row(scenario, shelf, static_folder) for scenario in _in_order(names[shelf])] for shelf in SHELVES}


def scenario_words() -> dict[str, str]:
    """Return scenario -> all words by which people may look for it, in both languages, in lower case."""
    names = shelved_scenario_names()
    return {name: _words(load_scenario(name), shelf) for shelf in SHELVES for name in names[shelf]}


def begin_with(shelves: dict[str, list[ScenarioRow]]) -> list[ScenarioRow]:
    """Return the rows of :data:`START_HERE`."""
    rows = {row["name"]: row for shelf in shelves.values() for row in shelf}
    return [rows[name] for name in START_HERE if name in rows]


def _in_order(names: Iterable[str]) -> list[Scenario]:
    return sorted(map(load_scenario, names), key=lambda scenario: scenario.order)


def poster(name: str, static_folder: Path) -> ScenarioPictures:
    """Return what the stage shows of a scenario before it begins; nothing if it is not one of this project."""
    shelf = next((shelf for shelf, names in shelved_scenario_names().items() if name in names), None)
    return {"pictures": {}, "shows": {}} if shelf is None else _pictures(load_scenario(name), shelf, static_folder)


def _pictures(scenario: Scenario, shelf: str, static_folder: Path) -> ScenarioPictures:
    moment = scenario.key_moment
    return {
        "pictures": picture_addresses(shelf, scenario.name, static_folder) if moment is not None else {},
        "shows": dict(moment.shows) if moment is not None else {},
    }


def _row(scenario: Scenario, shelf: str, static_folder: Path) -> ScenarioRow:
    return {
        "name": scenario.name,
        "shelf": shelf,
        "title": dict(scenario.title),
        "summary": dict(scenario.summary),
        "about": dict(scenario.about),
        "suggestion": dict(scenario.suggestion),
        "difficulty": scenario.tags.difficulty.value,
        "breaks": [word.value for word in scenario.tags.breaks],
        "length": [*_length(scenario.duration_ms)],
        **_pictures(scenario, shelf, static_folder),
        "nodes": [{"name": node.name, "role": node.role} for node in scenario.nodes],
        "topics": [topic.name for topic in scenario.topics],
    }


def _length(duration_ms: int) -> tuple[str, int]:
    """Return the unit, ``span.`` in the texts, and the rounded number of these units."""
    seconds = round(duration_ms / 1_000)
    if seconds < 100:
        return "seconds", seconds
    return ("minutes", round(seconds / 60)) if seconds < 6_000 else ("whole_hours", round(seconds / 3_600))


def _words(scenario: Scenario, shelf: str) -> str:
    texts = [scenario.title, scenario.summary, scenario.about, scenario.suggestion]
    if scenario.key_moment is not None:
        texts.append(scenario.key_moment.shows)
    keys = [f"lab.shelf.{shelf}", f"lab.difficulty.{scenario.tags.difficulty}"]
    keys += [f"lab.breaks.{word}" for word in scenario.tags.breaks]
    parts = [scenario.name, *(topic.name for topic in scenario.topics), *(node.name for node in scenario.nodes)]
    for language in LANGUAGES:
        parts += [text[language] for text in texts if text]
        parts += [translate(language, key) for key in keys]
    return searched_text(scenario.name, " ".join(parts))
