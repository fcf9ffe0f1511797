"""The protocol's JSON without orjson: the same values, the same refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.json_form import json_library
from engine.protocol.json_form.json_library import standard_dumps, standard_loads

PROJECT = Path(__file__).resolve().parents[4]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_what_one_library_writes_the_other_reads(value):
    assert standard_loads(orjson.dumps(value)) == orjson.loads(standard_dumps(value))


@given(
    st.dictionaries(texts | st.integers(-9, 99), texts | st.integers(0, 9) | st.lists(texts, max_size=2), max_size=5)
)
def test_sorted_and_indented_texts_are_the_same_byte_for_byte(value):
    value = {str(key): item for key, item in value.items()}
    assert standard_dumps(value, sort_keys=True) == json_library.dumps_sorted(value)
    assert standard_dumps(value, sort_keys=True, indent=2) == json_library.dumps_pretty(value)


def test_keys_that_are_numbers_become_texts():
    assert standard_dumps({10: "b", 2: "a"}, sort_keys=True) == json_library.dumps_sorted({10: "b", 2: "a"})


@pytest.mark.parametrize(
    "text",
    [
        b"1e999",
        b'"\\ud800"',
        b"[1,]",
        b"NaN",
        b"Infinity",
        b"",
        b"\xef\xbb\xbf1",
        b"01",
        b'"\x01"',
        b"\xff",
        b"[" * 100_000,
        '{"a":"\ud800"}'.encode("utf-8", "surrogatepass"),
        b'{"a":[{"\\udc00":1}]}',
    ],
)
def test_both_refuse_what_is_no_json(text):
    for loads in (orjson.loads, standard_loads):
        with pytest.raises(ValueError, match=r"\w"):
            loads(text)


@pytest.mark.parametrize(
    "text", [b"18446744073709551616", b"-9223372036854775809", b"9" * 400 + b".5e-390", b'{"a":1,"a":2}', b" [ ] \n"]
)
def test_both_read_the_edges_alike(text):
    assert standard_loads(text) == orjson.loads(text)


@pytest.mark.parametrize("value", [1 << 64, -(1 << 63) - 1, "\ud800", b"bytes", object(), {"a": [{1, 2}]}])
def test_both_refuse_what_json_cannot_express(value):
    for dumps in (orjson.dumps, standard_dumps):
        with pytest.raises(TypeError):
            dumps(value)


def test_the_protocol_works_in_a_python_without_orjson():
    program = """
import sys
sys.modules["orjson"] = None
from engine.protocol.json_form import json_library
from engine.protocol.json_form.json_text import loads_json
from engine.protocol.command.remoting_command import RemotingCommand, decode_command, encode_command
assert json_library.loads is json_library.standard_loads
command = RemotingCommand(10, ext_fields={"topic": "\\u4e2d", "a": "1"}, remark="r", body=b"x")
assert decode_command(encode_command(command)[4:]) == command
assert loads_json(b'{0:"a"}') == {"0": "a"}
"""
    subprocess.run([sys.executable, "-c", program], cwd=PROJECT, check=True)
