"""The writer of stored messages writes, field by field, what :mod:`struct` packs after the table of the layout."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.byte_strings import BytesWriter
from engine.protocol.message.record_layout import FIXED_PART, MESSAGE_MAGIC
from engine.protocol.message.record_writer import body_crc, envelope_size, host_flags, write_record

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
HOST = st.one_of(st.binary(min_size=8, max_size=8), st.binary(min_size=20, max_size=20))


def written(numbers, born_host, store_host, body=b"", topic_block=b"\1T", properties=b""):
    queue_id, flag, queue_offset, offset, sys_flag, born, stored, times, prepared = numbers
    size = envelope_size(host_flags(born_host, store_host), topic_block) + len(body) + len(properties)
    writer = BytesWriter()
    # fmt: off
    write_record(writer, size, queue_id, flag, queue_offset, offset, sys_flag, born, born_host, stored, store_host,
                 times, prepared, body, topic_block, properties)
    # fmt: on
    return size, writer.getvalue()


@given(
    st.tuples(INT32, INT32, INT64, INT64, INT32, INT64, INT64, INT32, INT64),
    HOST,
    HOST,
    st.binary(max_size=300),
    st.binary(max_size=100),
)
def test_every_field_lies_where_the_table_says(numbers, born_host, store_host, body, properties):
    size, record = written(numbers, born_host, store_host, body, b"\1T", properties)
    queue_id, flag, queue_offset, offset, sys_flag, born, stored, times, prepared = numbers
    crc = zlib.crc32(body) & 0x7FFFFFFF
    # fmt: off
    fixed = FIXED_PART[host_flags(born_host, store_host)].pack(
        size, MESSAGE_MAGIC, crc, queue_id, flag, queue_offset, offset, sys_flag, born, born_host, stored, store_host,
        times, prepared, len(body))
    # fmt: on
    assert record == fixed + body + b"\1T" + struct.pack(">h", len(properties)) + properties
    assert len(record) == size
    assert body_crc(body) == crc


@pytest.mark.parametrize("place", range(9))
def test_a_number_that_does_not_fit_its_field_is_an_error(place):
    numbers = [0] * 9
    numbers[place] = 2**63
    with pytest.raises(ValueError, match="too large"):
        written(numbers, bytes(8), bytes(8))
