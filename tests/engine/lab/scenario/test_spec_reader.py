"""A specification is read by the annotations of its dataclass."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

import pytest

from engine.fields.field import Field
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario_yaml import Section, read_yaml
from engine.lab.scenario.spec_reader import Named, names_in_text, parts, read_spec, words_of


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Wheel:
    inches: Annotated[int, Field("", "integer", 10, 30)]


def parse_wheel(section: Section) -> Wheel:
    return read_spec(Wheel, section)


@dataclass(frozen=True)
class Car:
    name: str
    doors: Annotated[int, Field("", "integer", 2, 5)] = 4
    tows_kg: Annotated[int, Field("", "integer", 0, 3_000)] | None = None
    is_new: Annotated[bool, Named("new")] = True
    colour: Colour = Colour.RED
    stripes: Annotated[tuple[Colour, ...], words_of(*Colour)] = (Colour.BLUE,)
    spare: Wheel | None = None
    wheels: Annotated[tuple[Wheel, ...], parts(parse_wheel, 4)] = ()
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Bicycle:
    front: Wheel


def car(text: str) -> Car:
    section = read_yaml(text)
    found = read_spec(Car, section, name="C")
    section.finish()
    return found


def test_a_field_that_is_absent_has_the_default_of_the_dataclass():
    assert car("doors: null") == Car("C")


def test_every_kind_of_field_is_read():
    text = "doors: 2\ntows_kg: 900\nnew: false\ncolour: blue\nstripes: red, blue\n"
    found = car(f"{text}spare: {{inches: 12}}\nwheels: [{{inches: 16}}]")
    assert found == Car("C", 2, 900, False, Colour.BLUE, (Colour.RED, Colour.BLUE), Wheel(12), (Wheel(16),))


def test_a_field_without_an_annotation_that_is_read_is_not_in_the_text():
    assert names_in_text(Car) == ("doors", "tows_kg", "new", "colour", "stripes", "spare", "wheels")


@pytest.mark.parametrize(
    ("text", "field_name", "problem"),
    [
        ("doors: 6", "doors", "allowed: an integer from 2 to 5"),
        ("colour: green", "colour", "allowed: red, blue"),
        ("stripes: red, green", "stripes", "'green' is not allowed; allowed: red, blue"),
        ("spare: {}", "spare.inches", "is missing"),
        ("spare: {inches: 12, width: 3}", "spare.width", "allowed: inches"),
        ("is_new: true", "is_new", "allowed: doors"),
        ("notes: []", "notes", "allowed: doors"),
        ("name: X", "name", "allowed: doors"),
    ],
)
def test_what_is_not_allowed_is_refused_with_its_name_in_the_text(text, field_name, problem):
    with pytest.raises(ScenarioError) as caught:
        car(text)
    assert caught.value.field == field_name
    assert problem in str(caught.value)


def test_a_part_that_must_be_given_is_missing():
    with pytest.raises(ScenarioError, match="front: is missing"):
        read_spec(Bicycle, read_yaml("back: 1"))
