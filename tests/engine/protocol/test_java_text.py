"""Bytes that are not UTF-8 are read as Java 17 reads them: each expectation was printed by its ``new String``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.java_text import java_text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("重量".encode("gbk"), "\ufffd\ufffd\ufffd\ufffd"),
        (b"a\xffb", "a\ufffdb"),
        (b"\xc0\x80", "\ufffd\ufffd"),
        (b"\xe4\xb8", "\ufffd"),  # a character that was cut
        (b"\xe4\xb8A", "\ufffdA"),
        (b"\xf0\x9f\x98", "\ufffd"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "\ufffd\ufffd"),  # a surrogate pair as six bytes: Python alone makes six of it
        (b"\xed\xa0A", "\ufffdA"),
        (b"\xed\xa0", "\ufffd"),
        (b"\xf5\x80\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
        (b"\xe0\x80\x80", "\ufffd\ufffd\ufffd"),
    ],
)
def test_wrong_bytes_become_as_many_replacements_as_in_java(data: bytes, text: str) -> None:
    assert java_text(data) == text


@given(st.text(st.characters(exclude_categories=["Cs"])), st.binary(max_size=40))
def test_any_bytes_are_text_and_good_text_stays(good: str, anything: bytes) -> None:
    assert java_text(good.encode()) == good
    java_text(anything).encode()
    assert java_text(good.encode() + b"\x02" + anything) == good + "\x02" + java_text(anything)
