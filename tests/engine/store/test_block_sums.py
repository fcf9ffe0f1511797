"""A sum is right for exactly the bytes that were added, however they came."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from engine.store import block_sums
from engine.store.block_sums import BLOCK_BYTES, MESSAGE_MAX_BYTES, BlockSums

_START = 1 << 20


class _File:
    """A mapped file's bytes."""

    def __init__(self, size: int) -> None:
        self.start_offset = _START
        self.content = bytearray(size)
        self.file = SimpleNamespace(view_at=lambda position, length: memoryview(self.content)[position:][:length])

    def put(self, sums: BlockSums, offset: int, data: bytes) -> int:
        self.content[offset - _START : offset - _START + len(data)] = data
        sums.add(self, offset, data, 1 + len(data) // 4096)
        return offset + len(data)


@given(st.lists(st.integers(1, 3 * BLOCK_BYTES), min_size=1, max_size=8), st.data())
def test_what_was_added_holds_until_a_bit_of_it_changes(sizes, data):
    file, sums, end = _File(sum(sizes)), BlockSums(), _START
    for number, size in enumerate(sizes):
        end = file.put(sums, end, bytes((number + 1,)) * size)
    first = data.draw(st.integers(_START, end - 1))
    last = data.draw(st.integers(first + 1, end))
    assert sums.hold(file, first, last)
    assert not sums.hold(file, first, end + 1)
    changed = data.draw(st.integers(first, last - 1))
    file.content[changed - _START] ^= 1
    assert not sums.hold(file, first, last)


def test_a_block_whose_beginning_is_not_known_has_no_sum():
    file, sums = _File(3 * BLOCK_BYTES), BlockSums()
    end = file.put(sums, _START + 100, b"x" * 2 * BLOCK_BYTES)
    assert not sums.hold(file, _START + 100, _START + BLOCK_BYTES)
    assert sums.hold(file, _START + BLOCK_BYTES, end)


def test_a_large_message_is_not_summed():
    file, sums = _File(3 * BLOCK_BYTES), BlockSums()
    sums.add(file, _START, b"x" * (MESSAGE_MAX_BYTES + 1))
    assert not sums.hold(file, _START, _START + 1)


def test_the_oldest_sums_go(monkeypatch):
    monkeypatch.setattr(block_sums, "BLOCKS_MAX", 2)
    file, sums = _File(3 * BLOCK_BYTES), BlockSums()
    end = file.put(sums, _START, b"x" * 3 * BLOCK_BYTES)
    assert not sums.hold(file, _START, _START + 1)
    assert sums.hold(file, _START + BLOCK_BYTES, end)
