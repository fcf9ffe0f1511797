"""What the entries of a group say, as bytes and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.replication.majority.errors import EntryRefused
from engine.replication.majority.majority_entry import SHARED_PATHS, LogPiece, SharedFile, decode_entry, encode_entry

_PIECES = st.builds(LogPiece, st.integers(0, 2**64 - 1), st.binary(min_size=1))
_FILES = st.builds(SharedFile, st.sampled_from(SHARED_PATHS), st.binary())


@given(st.one_of(_PIECES, _FILES))
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
