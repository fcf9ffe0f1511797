"""Every scenario stands on one shelf of the list."""

from __future__ import annotations

import dataclasses

from app.lab.scenario_shelves import SHELVES, on_shelves
from engine.lab.scenario_files import load_scenario, preset_scenario_names


def test_every_scenario_stands_on_exactly_one_shelf():
    placed = [name for shelf in SHELVES.values() for name in shelf]
    assert sorted(placed) == sorted(preset_scenario_names())


def test_what_has_no_shelf_comes_last_and_empty_shelves_are_left_out():
    hello = load_scenario("hello")
    new = dataclasses.replace(hello, name="new-one", order=0)
    assert on_shelves([new, hello]) == {"basics": [hello], "other": [new]}


def test_on_its_shelf_a_scenario_stands_where_its_order_puts_it():
    names = preset_scenario_names()
    shelves = on_shelves(map(load_scenario, names))
    assert [scenario.name for scenario in shelves["order"]][:2] == ["three-locks", "global-order"]
    for shelf in shelves.values():
        assert [scenario.order for scenario in shelf] == sorted(scenario.order for scenario in shelf)
    assert sum(len(shelf) for shelf in shelves.values()) == len(names)
