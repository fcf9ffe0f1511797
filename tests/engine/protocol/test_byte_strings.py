"""The plain writer and reader do what librt's do."""

from __future__ import annotations

from functools import partial

import librt.strings
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol import byte_strings, plain_byte_strings

BOTH = (librt.strings, plain_byte_strings)
WIDE = st.integers(-(2**65), 2**65)


def test_librt_is_used_where_it_is_installed():
    assert byte_strings.BytesWriter is librt.strings.BytesWriter


def outcome(call):
    try:
        return call()
    except (ValueError, IndexError) as error:
        return type(error), str(error)


def written(form, numbers, data):
    """What each write came to, and the bytes."""
    writer = form.BytesWriter()
    writer.write(data)
    refused = [outcome(partial(getattr(form, name), writer, number)) for name, number in numbers]
    return refused, writer.getvalue()


@given(st.lists(st.tuples(st.sampled_from(["write_i16_be", "write_i32_be", "write_i64_be"]), WIDE)), st.binary())
def test_both_write_the_same_and_refuse_the_same(numbers, data):
    assert written(librt.strings, numbers, data) == written(plain_byte_strings, numbers, data)


@given(st.sampled_from(["read_i32_be", "read_i64_be"]), st.binary(max_size=12), st.integers(-3, 15))
def test_both_read_the_same_and_refuse_the_same(name, data, index):
    librt_s, plain = (outcome(lambda form=form: getattr(form, name)(data, index)) for form in BOTH)
    assert librt_s == plain


def test_a_number_of_16_bits_is_written_with_its_sign():
    writer = plain_byte_strings.BytesWriter()
    plain_byte_strings.write_i16_be(writer, -2)
    assert writer.getvalue() == b"\xff\xfe"
    with pytest.raises(ValueError, match="i16"):
        plain_byte_strings.write_i16_be(writer, 40_000)
