"""SQL92 expressions compared with SQLite, in the language that both share.

Properties of type number (``n``, ``m``) are columns of affinity REAL or INTEGER there, texts (``s``, ``t``) columns of
affinity TEXT. Left out, because the two differ on purpose:

* two properties in one comparison: RocketMQ's ``=`` is not unknown when only the right one is missing, and it compares
  texts in an order as numbers;
* a text where a number is wanted: an error in RocketMQ, which no OR can save; SQLite calls it greater than any number;
* an integer next to a fraction such as "7.5", and numbers beyond 32 bits: see ``values.py``;
* NOT without brackets, which binds tighter here; a constant on the left of ``=`` (false, not unknown, when the property
  is missing); a property as a condition; LIKE and everything else that RocketMQ lacks.
"""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.filter.compiler import compile_expression
from engine.filter.expression import Evaluation

NUMBERS, TEXTS = ("n", "m"), ("s", "t")

integers = st.integers(-20, 20)
words = st.sampled_from(["", "x", "y", "it's", "X", "5", "北京"])
floats = st.integers(-40, 40).map(lambda quarters: quarters / 4).filter(lambda number: number != 0)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


number_literals = integers.map(str)
float_literals = floats.map(lambda number: f"{number:.2f}" if number > 0 else f"-{-number:.2f}")
names = st.sampled_from(NUMBERS)
text_names = st.sampled_from(TEXTS)
operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
negations = st.sampled_from(["", "NOT "])


@st.composite
def betweens(draw) -> str:
    low, high = sorted((draw(integers), draw(integers)))
    return f"{draw(names)} {draw(negations)}BETWEEN {low} AND {high}"


comparisons = st.one_of(
    st.tuples(names, operators, number_literals).map(" ".join),
    st.tuples(names, operators, float_literals).map(" ".join),
    st.tuples(text_names, st.sampled_from(["=", "<>"]), words.map(quoted)).map(" ".join),
    betweens(),
    st.tuples(text_names, negations, st.lists(words.map(quoted), min_size=1, max_size=6)).map(
        lambda parts: f"{parts[0]} {parts[1]}IN ({', '.join(parts[2])})"
    ),
    st.tuples(names | text_names, negations).map(lambda parts: f"{parts[0]} IS {parts[1]}NULL"),
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" AND ", " OR "]), inner).map("".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"NOT ({text})"),
        inner.map(lambda text: f"({text}) IS NULL"),
    ),
    max_leaves=8,
)
properties = st.fixed_dictionaries(
    {}, optional={**dict.fromkeys(NUMBERS, integers.map(str)), **dict.fromkeys(TEXTS, words)}
)


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE message (n INTEGER, m REAL, s TEXT, t TEXT)")
    yield connection
    connection.close()


def by_sqlite(database: sqlite3.Connection, expression: str, values: dict[str, str]) -> bool | None:
    database.execute("DELETE FROM message")
    row = [values.get(name) for name in (*NUMBERS, *TEXTS)]
    database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
    ((result,),) = database.execute(f"SELECT {expression} FROM message")
    return None if result is None else bool(result)


@given(expression=conditions, values=properties)
def test_an_expression_is_true_false_or_unknown_where_it_is_in_sqlite(database, expression, values):
    ours = Evaluation(values).value_of(compile_expression(expression))
    assert ours is by_sqlite(database, expression, values)


def test_the_comparison_would_notice_a_difference(database):
    """The forms left out do differ: if one day they do not, they belong into the property above."""
    for expression, values, ours, theirs in (
        ("s = t", {"s": "x"}, False, None),
        ("5 = n", {}, False, None),
        ("NOT n = 3", {"n": "5"}, False, True),
        ("s < t", {"s": "10", "t": "9"}, False, True),
    ):
        assert Evaluation(values).value_of(compile_expression(expression)) is ours
        assert by_sqlite(database, expression, values) is theirs
