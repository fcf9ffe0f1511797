"""Every scenario stands on one shelf of the list."""

from __future__ import annotations

from app.lab.scenario_shelves import SHELVES, on_shelves
from engine.lab.scenario_files import preset_scenario_names


def test_every_scenario_stands_on_exactly_one_shelf():
    placed = [name for shelf in SHELVES.values() for name in shelf]
    assert sorted(placed) == sorted(preset_scenario_names())


def test_what_has_no_shelf_comes_last_and_empty_shelves_are_left_out():
    assert on_shelves(["hello", "new-one"]) == {"basics": ["hello"], "other": ["new-one"]}
