"""The table of the stored record: whatever is read by it lies where all fields together say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.message.record_layout import (
    FIXED_FIELDS,
    FIXED_PART,
    HOST_SIZES,
    MAGIC_POSITION,
    MESSAGE_MAGIC,
    MESSAGE_MAGIC_BYTES,
    QUEUE_ID_POSITION,
    QUEUE_OFFSET_POSITION,
    fields_at,
    store_timestamp_of,
)
from engine.protocol.message.record_writer import host_flags
from engine.protocol.system_flags import BORN_HOST_V6, STORE_HOST_V6

NAMES = list(FIXED_FIELDS)


def record(flags: int) -> tuple[bytes, dict[str, object]]:
    """A fixed part in which every field has another value."""
    values: dict[str, object] = {name: 1_000 + number for number, name in enumerate(NAMES)}
    values |= {"magic": MESSAGE_MAGIC, "sys_flag": flags}
    for name, size in zip(("born_host", "store_host"), HOST_SIZES[flags], strict=True):
        values[name] = bytes(range(size))
    return FIXED_PART[flags].pack(*values.values()), values


@given(st.sampled_from(list(HOST_SIZES)), st.sets(st.sampled_from(NAMES), min_size=1))
def test_any_fields_are_read_where_they_lie(flags: int, names: set[str]) -> None:
    data, values = record(flags)
    fields = fields_at(*names)[flags]
    assert fields.unpack_from(data) == tuple(values[name] for name in NAMES if name in names)
    assert fields.size <= len(data)


@pytest.mark.parametrize("flags", HOST_SIZES)
def test_the_store_timestamp_lies_behind_the_born_host(flags: int) -> None:
    data, values = record(flags)
    assert store_timestamp_of(b"???" + data, 3) == values["store_timestamp"]


def test_places_and_sizes_are_those_of_the_drawing() -> None:
    assert (MAGIC_POSITION, QUEUE_ID_POSITION, QUEUE_OFFSET_POSITION) == (4, 12, 20)
    assert {flags: part.size for flags, part in FIXED_PART.items()} == {
        0: 88,
        BORN_HOST_V6: 100,
        STORE_HOST_V6: 100,
        BORN_HOST_V6 | STORE_HOST_V6: 112,
    }
    assert host_flags(bytes(20), bytes(8)) == BORN_HOST_V6
    assert record(0)[0][MAGIC_POSITION : MAGIC_POSITION + 4] == MESSAGE_MAGIC_BYTES
