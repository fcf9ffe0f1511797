"""Numbers of variable length."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.varint import decode_unsigned_varint, decode_varint, encode_unsigned_varint, encode_varint

SIGNED = st.integers(-(1 << 63), (1 << 63) - 1)


@given(SIGNED | st.integers(-5_000, 5_000), st.binary(max_size=3), st.binary(max_size=3))
@example(-1, b"", b"")
@example(2_047, b"", b"\xff")
@example(2_048, b"", b"")
@example(-2_048, b"", b"")
@example(-2_049, b"", b"")
def test_what_was_encoded_is_decoded_wherever_it_stands(value, before, behind):
    encoded = encode_varint(value)
    assert decode_varint(before + encoded + behind, len(before)) == (value, len(before) + len(encoded))


@given(st.integers(0, (1 << 64) - 1))
def test_unsigned_numbers_take_a_byte_for_seven_bits(value):
    encoded = encode_unsigned_varint(value)
    assert len(encoded) == max(1, -(-value.bit_length() // 7))
    assert decode_unsigned_varint(encoded, 0) == (value, len(encoded))


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001"), (300, "d804"), (-8192, "ff7f")]
)
def test_small_numbers_stay_short_on_both_sides_of_zero(value, encoded):
    assert encode_varint(value).hex() == encoded


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9, b"\xff" * 11, b"\xff" * 9 + b"\x02"])
def test_what_does_not_end_within_ten_bytes_is_refused(data):
    with pytest.raises(KafkaRefusal) as refused:
        decode_varint(data, 0)
    assert refused.value.code == KafkaErrorCode.CORRUPT_MESSAGE
