"""What the entries of a group say, as bytes and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.replication.majority.errors import EntryRefused
from engine.replication.majority.majority_entry import (
    SHARED_PATHS,
    LogPiece,
    SharedFile,
    SharedLine,
    TopicsDeleted,
    decode_entry,
    encode_entry,
)

_PIECES = st.builds(LogPiece, st.integers(0, 2**64 - 1), st.binary(min_size=1))
_FILES = st.builds(SharedFile, st.sampled_from(SHARED_PATHS), st.binary())
_LINES = st.builds(SharedLine, st.sampled_from(SHARED_PATHS), st.binary())
_NAMES = st.from_regex(r"[%A-Za-z0-9_-]{1,127}", fullmatch=True)
_DELETIONS = st.builds(TopicsDeleted, st.integers(0, 2**64 - 1), st.lists(_NAMES, min_size=1).map(tuple))


@given(st.one_of(_PIECES, _FILES, _LINES, _DELETIONS))
def test_what_is_encoded_is_decoded_to_the_same(entry):
    assert decode_entry(encode_entry(entry)) == entry


@given(st.binary(max_size=40))
def test_any_bytes_are_an_entry_or_refused(data):
    try:
        entry = decode_entry(data)
    except EntryRefused:
        return
    assert encode_entry(entry) == data


@pytest.mark.parametrize("path", ["config/plain_acl.yml", "../../etc/passwd", "commitlog/0"])
def test_no_member_writes_a_file_that_is_not_shared(path):
    with pytest.raises(EntryRefused):
        decode_entry(encode_entry(SharedFile(path, b"{}")))
    with pytest.raises(EntryRefused):
        decode_entry(encode_entry(SharedLine(path, b"{}")))


def test_a_long_table_is_compressed_and_a_damaged_one_refused():
    file = SharedFile(SHARED_PATHS[0], b'{"topic": "T"}\n' * 400_000)
    data = encode_entry(file)
    assert len(data) < 100_000
    assert decode_entry(data) == file
    for damaged in (data[:-1], data + b"x", data[:30] + b"\xff" + data[31:]):
        with pytest.raises(EntryRefused):
            decode_entry(damaged)
