"""What fastjson 1.2.69 takes for JSON is read as it reads it: the expectations were printed by it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_text import loads_json

_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc{}[],:'\"/* \\\u4e2d"), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a":"x\x01y\tz\x00w"}', {"a": "x\x01y\tz\0w"}),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        (b'{"a":1,}', {"a": 1}),
        (b'{,"a":1,,,"b":{"c":"1",},}', {"a": 1, "b": {"c": "1"}}),
        (b"[1,,2,]", [1, 2]),
        (b"{'a':'b\"c'}", {"a": 'b"c'}),
        (b'{a:1,b_2:{c:"1"}}', {"a": 1, "b_2": {"c": "1"}}),
        (b'{"a":10,/* c */"b":3}// end', {"a": 10, "b": 3}),
        (b'{"a":3}\x00', {"a": 3}),
        (b'\x0c\x08{"a"\x0c:10,\x08"b":3}', {"a": 10, "b": 3}),
        (b'{"a":010,"b":+3,"c":NaN,"d":undefined}', {"a": 10, "b": 3, "c": None, "d": None}),
        (rb'{"a":"\x41|\0|\7|\v|\'|\/"}', {"a": "A|\0|\7|\v|'|/"}),
        (rb'{"a":"\ud800x","b":"\ud83d\ude00"}', {"a": "?x", "b": "😀"}),
        ('{"a":"重量"}'.encode("gbk"), {"a": "\ufffd\ufffd\ufffd\ufffd"}),
        (b'{"":1,}', {"": 1}),
    ],
)
def test_what_fastjson_reads_is_read(text: bytes, value: object) -> None:
    assert loads_json(text) == value


@pytest.mark.parametrize(
    "text", [b'{"a":1}xyz', b'{"a":1} {"a":2}', b'{"a"=1}', rb'{"a":"\q"}', b'{"a":1', b'{"a', b"{:1}", b"[1 2]", b""]
)
def test_what_is_not_even_that_is_refused(text: bytes) -> None:
    with pytest.raises(MalformedBody, match="cannot be read at position"):
        loads_json(text)


@given(_values)
def test_the_tolerant_parser_reads_standard_json_as_it_is(value: object) -> None:
    # A comma too many sends standard text the tolerant way.
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert loads_json(f"[{text},]".encode()) == [value]


@pytest.mark.parametrize(
    "repeated", [b"1,", b"{},", b"'',", b"1/**/,", b'"\\n",', b"{a:1},", b'"\\ud800\\x41",', b"{{}:1},"]
)
def test_text_that_is_not_standard_json_has_a_bounded_number_of_values(repeated: bytes) -> None:
    text = b"['a'," + repeated * 3_000 + b"]"
    with pytest.raises(MalformedBody, match="more than 2000 values and is not standard JSON"):
        loads_json(text, values_max=2_000)
    assert len(loads_json(text, values_max=None)) == 3_001


def test_by_default_there_are_two_hundred_thousand_and_one_string_of_many_escapes_counts_as_many() -> None:
    with pytest.raises(MalformedBody, match="more than 200000 values"):
        loads_json(b"['" + b"\\n" * 300_000 + b"']")


def test_standard_json_may_have_any_number_of_values() -> None:
    assert len(loads_json(b"[" + b"1," * 300_000 + b"1]")) == 300_001


def test_a_map_of_ten_thousand_queues_is_within_the_bound() -> None:
    queue = (
        b'{"brokerName":"broker-a","queueId":%d,"topic":"T"}:{"brokerOffset":1,"consumerOffset":1,"lastTimestamp":1}'
    )
    text = b'{"offsetTable":{' + b",".join(queue % number for number in range(10_000)) + b"}}"
    assert len(loads_json(text)["offsetTable"].pairs) == 10_000
