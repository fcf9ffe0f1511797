"""A table of fields reads outside input: a value within its bounds, or the one refusal, whatever is given."""

import math
import pickle
from enum import StrEnum
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.fields.field import EXACT_MAX, Field, Kind, read_fields, read_tag
from engine.fields.refusal import FieldRefused, shown
from engine.protocol.names import validate_topic
from engine.texts import LANGUAGES, plain


class Position(StrEnum):
    """An enumeration whose members a choice returns."""

    FIRST = "first"
    LAST = "last"


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)  # halves of surrogate pairs too
HUGE = st.sampled_from([10**400, -(10**4_000), 2**63, 2**53, -1, 0, 1])
SCALARS = st.none() | st.booleans() | st.integers() | HUGE | st.floats() | ANY_TEXT
NUMBERS_AS_TEXT = st.sampled_from(
    ["1_000", "\u0661", "\uff11", "+1", "-1", "1e9", " 1", "0x1", "nan", "inf", "9" * 5_000]
)
JSON_VALUES = st.recursive(
    SCALARS | NUMBERS_AS_TEXT,
    lambda value: (
        st.lists(value, max_size=4) | st.dictionaries(ANY_TEXT | st.sampled_from(["a", "b"]), value, max_size=4)
    ),
    max_leaves=12,
)
BOUNDS = st.tuples(st.integers(-5, 10), st.integers(0, 10))
CHOICES = st.sampled_from([("a", "b"), ("", "a"), tuple(Position), ()])
SIMPLE = st.builds(
    lambda name, kind, bounds, default, allowed, is_secret: Field(
        name, kind, bounds[0], bounds[0] + bounds[1], default, allowed, each=3, is_secret=is_secret
    ),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(get_args(Kind)),
    BOUNDS,
    st.sampled_from([..., None, 7]),
    CHOICES,
    st.booleans(),
)


def with_parts(simple):
    parts = st.builds(
        lambda kind, fields: Field("parts", kind, 0, 3, fields=tuple(fields)),
        st.sampled_from(["list", "row", "object"]),
        st.lists(simple, min_size=1, max_size=3, unique_by=lambda field: field.name),
    )
    return parts | st.builds(lambda item: Field("parts", "list", 0, 3, item=item), simple | parts)


TABLES = st.lists(SIMPLE | with_parts(SIMPLE), max_size=4, unique_by=lambda field: field.name)


def fits(field, value):
    """Return whether ``value`` is what the field promises; written without the code under test."""
    if value is field.default:
        return True
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match field.kind:
        case "integer":
            return number and isinstance(value, int) and field.low <= value <= field.high
        case "number" if isinstance(value, str):
            return any(value is one for one in field.allowed)
        case "number":
            return isinstance(value, float) and math.isfinite(value) and field.low <= value <= field.high
        case "switch":
            return value in (True, False) and isinstance(value, bool)
        case "choice":
            return any(value is one for one in field.allowed)
        case "text" | "pattern":
            return isinstance(value, str) and field.low <= len(value) <= field.high and value.encode() is not None
        case "names":
            return (
                isinstance(value, tuple)
                and field.low <= len(value) <= field.high
                and max(map(len, value), default=1) <= 3
            )
        case "texts":
            return len(value) <= field.high and all(len(one) <= 3 for pair in value.items() for one in pair)
        case "list" | "row" | "object":
            return fits_parts(field, value)
        case _:
            return (
                isinstance(value, bool) or (number and abs(value) <= max(EXACT_MAX, 1e308)) or len(value) <= field.high
            )


def fits_parts(field, value):
    """Return whether the entries of a list, the places of a row or the fields of an object are what was promised."""
    if field.kind == "row":
        return isinstance(value, tuple) and all(fits(*pair) for pair in zip(field.fields, value, strict=True))
    if field.kind == "object":
        return fits_table(field.fields, value)
    each = [fits(field.item, one) if field.item else fits_table(field.fields, one) for one in value]
    return field.low <= len(value) <= field.high and all(each)


def fits_table(fields, value):
    return not fields or all(fits(field, value[field.name]) for field in fields)


@given(TABLES, JSON_VALUES | st.dictionaries(st.sampled_from(["a", "b", "c", "parts"]), JSON_VALUES), st.booleans())
@example([Field("a", "number", 0, 1)], {"a": 10**400}, False)
@example([Field("a", "integer", 0, 9)], {"a": "\u0661"}, True)
@example([Field("a", "text", 0, 9)], {"a": "\ud800"}, False)
@example([Field("a", "row", fields=(Field("b", "integer"), Field("c", "text")))], {"a": [1, "x"]}, False)
@example([Field("a", "list", 0, 3, item=Field("b", "number", 0, 1, allowed=("auto",)))], {"a": [1, "auto"]}, False)
def test_any_value_is_read_within_its_bounds_or_refused(table, data, of_text):
    refusal = None
    try:
        read = read_fields(table, data, of_text=of_text)
    except FieldRefused as refused:
        refusal = refused
    if refusal is None:
        assert list(read) == [field.name for field in table]
        assert all(fits(field, read[field.name]) for field in table)
        return
    assert all(refusal.path in refusal.text[language] for language in LANGUAGES)
    assert len(str(refusal)) < 1_000
    pickle.loads(pickle.dumps(refusal))  # it crosses processes


def test_a_value_nested_too_deep_to_be_printed_is_refused():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(FieldRefused, match=r"^a: \[\[\[\.\.\.\]\]\] is not allowed; allowed: an integer from 0 to 5$"):
        read_fields([Field("a", "integer", 0, 5)], {"a": deep})
    while deep:  # freed level by level: else Python's stack holds as many frames
        deep = deep.pop()


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        (Field("n", "integer", 1, 5), True, "n: True is not allowed; allowed: an integer from 1 to 5"),
        (Field("n", "integer", 1, 5), 1.0, "n: 1.0 is not allowed; allowed: an integer from 1 to 5"),
        (Field("n", "integer", 1, 5), None, "n: is missing; allowed: an integer from 1 to 5"),
        (Field("n", "number", 0, 1), float("nan"), "n: nan is not allowed; allowed: a number from 0 to 1"),
        (Field("n", "switch"), "true", "n: 'true' is not allowed; allowed: true or false"),
        (Field("n", "text", 1, 3), "four", "n: has 4 characters; allowed: a text of 1 to 3 characters"),
        (Field("n", "choice", allowed=("a", "b")), ["a"], "n: ['a'] is not allowed; allowed: a, b"),
        (
            Field("n", "names", 1, 2),
            [],
            "n: has 0 entries; allowed: a list of 1 to 2 texts, each of 1 to 200 characters",
        ),
        (
            Field("n", "pattern", 0, 9),
            "a*b",
            "n: 'a*b' is not allowed; allowed: a text of at most 9 characters, or a prefix",
        ),
        (
            Field("n", "text", 1, 9, is_secret=True),
            7,
            "n: the value is not allowed; allowed: a text of 1 to 9 characters",
        ),
        (
            Field("n", "text", 1, 99, check=validate_topic),
            "a b",
            "n: the topic name 'a b' holds an illegal character; allowed: letters, digits and % | - _",
        ),
        (
            Field("n", "text", 1, 99, check=validate_topic, says=plain("a topic")),
            "a b",
            "n: the topic name 'a b' holds an illegal character; allowed: a topic",
        ),
        (
            Field("n", "list", 0, 2, fields=(Field("a", "integer", 0, 1),)),
            [{"a": 0}, {"a": 2}],
            "n[1].a: 2 is not allowed; allowed: an integer from 0 to 1",
        ),
        (
            Field("n", "number", 0, 1, allowed=("auto",)),
            "fast",
            "n: 'fast' is not allowed; allowed: a number from 0 to 1, or auto",
        ),
        (
            Field("n", "list", 0, 2, item=Field("", "integer", 0, 1)),
            [0, 2],
            "n[1]: 2 is not allowed; allowed: an integer",
        ),
        (
            Field("n", "row", fields=(Field("a", "switch"), Field("b", "switch"))),
            [1],
            "n: [1] is not allowed; allowed: [a, b]",
        ),
        (Field("n", "row", fields=(Field("a", "switch"), Field("b", "switch"))), [True, 1], "n.b: 1 is not allowed"),
        (Field("n", "object", fields=(Field("a", "switch"),)), 7, "n: 7 is not allowed; allowed: an object with a"),
    ],
)
def test_a_refusal_names_path_problem_and_what_is_allowed(field, value, error):
    with pytest.raises(FieldRefused) as refused:
        read_fields([field], {"n": value})
    assert str(refused.value).startswith(error)
    assert str(refused.value).count("allowed: ") <= 1


@pytest.mark.parametrize(
    ("given_name", "error"),
    [
        ("qeues", "qeues: is not allowed here (did you mean queues?); allowed: topic, queues"),
        ("zzz", "zzz: is not allowed here; allowed: topic, queues"),
        (5, "5: is not allowed here; allowed: topic, queues"),
        ("x" * 999, "'" + "x" * 60 + "...': is not allowed here"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_allowed_one(given_name, error):
    table = [Field("topic", "text", 1, 9), Field("queues", "integer", 1, 9)]
    with pytest.raises(FieldRefused) as refused:
        read_fields(table, {"topic": "T", given_name: 1})
    assert str(refused.value).startswith(error)


@pytest.mark.parametrize(
    "text", ["1_000", "\u0661", "\uff11", "1e3", " 1", "0x1", "", "1.0", "nan", "--1", "9" * 5_000]
)
def test_a_text_is_an_integer_only_in_plain_digits(text):
    with pytest.raises(FieldRefused, match="allowed: an integer from 0 to"):
        read_fields([Field("n", "integer")], {"n": text}, of_text=True)


def test_texts_are_read_by_the_kind_of_their_field():
    table = [
        Field("integer", "integer", -9, 9),
        Field("number", "number", 0, 1),
        Field("switch", "switch"),
        Field("choice", "choice", allowed=tuple(Position)),
        Field("names", "names", 0, 3),
        Field("text", "text", 1, 9),
        Field("absent", "integer", default=None),
    ]
    texts = {"integer": "-7", "number": "0.5", "switch": "true", "choice": "last", "names": "a, b", "text": "7"}
    read = read_fields(table, texts, of_text=True)
    assert list(read.values()) == [-7, 0.5, True, Position.LAST, ("a", "b"), "7", None]
    assert read["choice"] is Position.LAST


def test_null_counts_as_absent():
    assert read_fields([Field("n", "integer", default=4)], {"n": None}) == {"n": 4}


def test_a_tag_decides_which_fields_there_are():
    assert read_tag("kind", ("a", "b"), {"kind": "b", "more": 1}) == "b"
    with pytest.raises(FieldRefused, match=r"^body\.kind: 'c' is not allowed; allowed: a, b$"):
        read_tag("kind", ("a", "b"), {"kind": "c"})
    with pytest.raises(FieldRefused, match=r"^command: \[\] is not allowed; allowed: an object with kind$"):
        read_tag("kind", ("a", "b"), [], "command")


def test_what_a_form_says_replaces_the_bounds():
    sentence = {"en": "Queues: 1 to 9", "zh": "队列数：1 到 9"}
    with pytest.raises(FieldRefused) as refused:
        read_fields([Field("queues", "integer", 1, 9, says=sentence)], {"queues": 0})
    assert refused.value.text["zh"] == "queues：不能是 0；允许：队列数：1 到 9"
    assert refused.value.sentence is sentence


def test_a_shown_value_is_never_longer_than_a_line():
    assert shown("x" * 99) == repr("x" * 60 + "...")
    assert shown(10**5_000) == shown([10**5_000]) == "..."  # Python does not write such integers
    assert len(shown({"a" * 99: ["b" * 99] * 99})) <= 63
