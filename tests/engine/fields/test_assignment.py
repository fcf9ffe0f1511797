"""``NAME=VALUE`` and ``NODE.NAME=VALUE`` have one reader: what was written comes back, the rest is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.fields.assignment import read_assignment
from engine.fields.field import Field
from engine.fields.refusal import FieldRefused

part = st.text(min_size=1).filter(lambda text: "=" not in text and "." not in text)


@given(part, st.text())
def test_a_name_and_a_value_come_back_whatever_the_value_has(name, value):
    assert read_assignment(f"{name}={value}") == (name, value)


@given(part, part, part, st.text())
def test_the_first_dots_part_the_names_and_the_last_name_may_have_more(node, name, more, value):
    assert read_assignment(f"{node}.{name}.{more}={value}", "NODE.NAME=VALUE,...") == (node, f"{name}.{more}", value)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("", "NAME=VALUE"),
        ("name", "NAME=VALUE"),
        ("=value", "NAME=VALUE"),
        ("name=value", "NODE.NAME=VALUE"),
        (".name=value", "NODE.NAME=VALUE"),
        ("node.=value", "NODE.NAME=VALUE"),
        ("node.name", "NODE.NAME=VALUE"),
    ],
)
def test_another_shape_is_refused_with_the_shape_and_an_example(text, shape):
    with pytest.raises(FieldRefused) as refused:
        read_assignment(text, shape, "a.b=1")
    assert refused.value.detail["en"] == f"{text!r} is not allowed; allowed: {shape}, such as a.b=1"


def test_fields_say_what_the_name_and_the_value_may_be():
    fields = Field("name", "choice", allowed=("a", "b")), Field("value", "text", 1)
    assert read_assignment("a=x", "NAME=VALUE", "", *fields) == ("a", "x")
    with pytest.raises(FieldRefused, match=r"^name: 'c' is not allowed; allowed: a, b$"):
        read_assignment("c=x", "NAME=VALUE", "", *fields)
    with pytest.raises(FieldRefused, match=r"^value: "):
        read_assignment("a=", "NAME=VALUE", "", *fields)
