"""CRC-32C: the table's sums are the package's."""

from __future__ import annotations

import google_crc32c
from hypothesis import given
from hypothesis import strategies as st

from engine.kafka.records.crc32c import table_crc32c


@given(st.binary(max_size=300))
def test_the_table_and_the_package_agree(data):
    assert table_crc32c(data) == google_crc32c.value(data)


def test_the_check_value_of_the_algorithm_is_right():
    assert table_crc32c(b"123456789") == 0xE3069283
