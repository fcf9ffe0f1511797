"""Every table of fields in engine and app, and every reader that has one: any JSON value is read or refused."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.lab.foundation.refusal import LabRefused
from app.lab.session.requests import read_control, read_open
from app.lab.views.frame_recording_view import frame_recording_view
from app.lab.views.recorded_frames import read_frames
from app.lessons.check import read_check
from app.lessons.lesson_files import load_lesson
from app.testkit.requests import Request, fields_of
from engine.acl.access_rules import parse_rules
from engine.acl.errors import BadAccessConfig
from engine.fields.field import Field, read_fields
from engine.fields.refusal import FieldRefused
from engine.lab.run.recording import parse_export
from engine.lab.scenario.command import CommandKind, parse_command
from engine.lab.scenario.errors import LabError
from engine.texts import LANGUAGES
from tests.support.tiers import examples

PROJECT = Path(__file__).parents[1]
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([10**400, 2**63, -1, 0, 1]) | st.floats() | ANY_TEXT,
    lambda value: st.lists(value, max_size=4) | st.dictionaries(ANY_TEXT, value, max_size=4),
    max_leaves=8,
)


def tables_in(value: object) -> Iterator[tuple[Field, ...]]:
    """The tables that a module's name stands for."""
    if isinstance(value, Field):
        yield (value,)
    elif isinstance(value, CommandKind):
        yield (value.target_field, *value.fields)
    elif isinstance(value, type) and issubclass(value, Request):
        yield fields_of(value)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from tables_in(one)
    elif isinstance(value, tuple | list) and value and all(isinstance(one, Field) for one in value):
        yield tuple(value)


def all_tables() -> dict[str, tuple[Field, ...]]:
    """Where it is -> a table, of every module that imports the reader."""
    tables = {}
    for path in sorted([*(PROJECT / "engine").rglob("*.py"), *(PROJECT / "app").rglob("*.py")]):
        if "engine.fields.field import" in path.read_text("utf-8"):
            name = path.relative_to(PROJECT).with_suffix("").as_posix().replace("/", ".")
            for global_name, value in vars(importlib.import_module(name)).items():
                for at, table in enumerate(tables_in(value)):
                    tables[f"{name}.{global_name}[{at}]"] = table
    return tables


TABLES = all_tables()


def near(field: Field) -> st.SearchStrategy:
    """Values that the field almost allows, so that what is checked last is reached, too."""
    if field.kind == "row":
        return st.tuples(*map(near, field.fields)).map(list)
    if field.kind == "list" and (field.item or field.fields):
        return st.lists(near(field.item) if field.item else near_all(field.fields), max_size=3)
    if field.kind == "object" and field.fields:
        return near_all(field.fields)
    texts = ANY_TEXT | st.sampled_from(["", "a", "a*", "10.0.0.1", "x=PUB", "true", "7", *map(str, field.allowed)])
    if field.kind in ("names", "texts"):
        return st.lists(texts, max_size=3) | st.dictionaries(texts, texts, max_size=3)
    return texts | st.integers(-1, 70_000) | st.booleans() | st.floats(0, 2)


def near_all(table: tuple[Field, ...]) -> st.SearchStrategy:
    known = st.fixed_dictionaries({}, optional={field.name: near(field) | JSON for field in table})
    return known | st.dictionaries(ANY_TEXT, JSON, max_size=2)


#: Made once: to make a strategy takes longer than to draw from it.
VALUES = {name: near_all(table) | JSON for name, table in TABLES.items()}


def test_the_tables_of_engine_and_app_are_found():
    assert len(TABLES) > 80
    assert any(name.startswith("app.lab.session.requests.ACTIONS") for name in TABLES)
    assert "app.testkit.requests.Advance[0]" in TABLES


TEXTS = [
    "",
    " ",
    "a",
    "a b",
    "a*",
    "*a",
    "a@b",
    "@",
    "10.0.0.1",
    "x=PUB",
    "true",
    "7",
    "-1",
    "\n",
    "\0",
    "\ud800",
    "x" * 300,
]
SIMPLE = [*TEXTS, None, True, 0, 7, -1, 2**63, 10**400, 0.5, float("nan"), float("inf")]
ANY = [*SIMPLE, [], {}, *([one] for one in SIMPLE), *({"a": one} for one in SIMPLE), *({one: "a"} for one in TEXTS)]


def all_fields(table: tuple[Field, ...]) -> Iterator[Field]:
    for field in table:
        yield field
        yield from all_fields((*field.fields, *([field.item] if field.item else [])))


@pytest.mark.parametrize("of_text", [False, True])
def test_every_field_reads_or_refuses_each_value_that_is_hard_to_read(of_text):
    """In a table, what is checked first hides the rest from chance."""
    for field in (one for table in TABLES.values() for one in all_fields(table)):
        for value in ANY:
            with contextlib.suppress(FieldRefused):
                field.read(value, field.name, of_text=of_text)


@settings(max_examples=examples(quick=300, full=1_000), deadline=None)
@given(st.sampled_from(sorted(TABLES)), st.booleans(), st.data())
def test_any_value_is_read_by_a_table_or_refused(name, of_text, data):
    table, refusal = TABLES[name], None
    value = data.draw(VALUES[name])
    try:
        assert list(read_fields(table, value, of_text=of_text)) == [field.name for field in table]
    except FieldRefused as refused:
        refusal = refused
    assert refusal is None or all(refusal.text[language] for language in LANGUAGES)


LESSON = load_lesson("01-first-message")
#: A reader of outside input, an input of the kind that it takes, and its refusal.
READERS: dict[str, tuple[Callable[[Any], object], object, type[Exception]]] = {
    "open": (read_open, {"scenario": "hello", "seed": 1, "link": "", "fresh": True}, LabRefused),
    "control": (read_control, {"action": "run-until", "on": "time", "time_us": 5, "speed": 1}, LabRefused),
    "check": (lambda data: read_check(data, LESSON), {"world": "w", "step": "behind", "prediction": 1}, LabRefused),
    "frames": (
        lambda data: frame_recording_view(read_frames(data)),
        {
            "format": "glassmq-frames",
            "version": 1,
            "broker": "b",
            "frames": [[1, 2, "c", "in", "AAAA", 0, 0, ""]],
        },
        LabRefused,
    ),
    "export": (
        parse_export,
        {
            "format": "glassmq-lab-run",
            "version": 1,
            "scenario": "x",
            "text": "nodes: {}",
            "seed": 1,
            "event": 0,
            "time_us": 0,
            "commands": [{"event": 0, "time_us": 0, "command": {"kind": "heal"}}],
        },
        LabError,
    ),
    "command": (parse_command, {"kind": "partition", "left": ["B1"], "right": ["B2"], "one_way": True}, LabError),
    "rules": (
        parse_rules,
        {"accounts": [{"accessKey": "accessKey", "secretKey": "secretKey", "admin": "true", "topicPerms": ["T=PUB"]}]},
        BadAccessConfig,
    ),
}


@st.composite
def damaged(draw, value):
    """``value`` with parts of it replaced by anything."""
    if draw(st.integers(0, 5)) == 0:
        return draw(JSON)
    if isinstance(value, dict):
        return {name: draw(damaged(part)) for name, part in value.items() if draw(st.integers(0, 9))}
    return [draw(damaged(part)) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=examples(quick=50, full=200), deadline=None)
@given(data=st.data())
def test_any_value_is_read_by_its_reader_or_refused(name, data):
    read, whole, refusal = READERS[name]
    with contextlib.suppress(refusal):
        read(data.draw(damaged(whole)))
