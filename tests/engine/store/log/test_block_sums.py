"""A sum is right for exactly the bytes that were added, however they came."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.mapped_file import MappedFile
from engine.store.files.mapping_pool import MappingPool
from engine.store.log import block_sums
from engine.store.log.block_sums import BLOCK_BYTES, MESSAGE_MAX_BYTES, BlockSums

_START = 1 << 20


def _file(size: int) -> MappedFile:
    return MappedFile(LabMachines().node("broker-a").disk, MappingPool(2), "commitlog", _START, size)


def _put(file: MappedFile, sums: BlockSums, offset: int, data: bytes) -> int:
    file.file.write_at(offset - _START, data)
    sums.add(file, offset, data, 1 + len(data) // MESSAGE_MAX_BYTES)
    return offset + len(data)


@given(st.lists(st.integers(1, 3 * BLOCK_BYTES), min_size=1, max_size=8), st.data())
def test_what_was_added_holds_until_a_bit_of_it_changes(sizes, data):
    file, sums, end = _file(sum(sizes)), BlockSums(), _START
    for number, size in enumerate(sizes):
        end = _put(file, sums, end, bytes((number + 1,)) * size)
    first = data.draw(st.integers(_START, end - 1))
    last = data.draw(st.integers(first + 1, end))
    assert sums.hold(file, first, last)
    assert not sums.hold(file, first, end + 1)
    changed = data.draw(st.integers(first, last - 1))
    file.file.write_at(changed - _START, b"?")
    assert not sums.hold(file, first, last)


def test_a_block_whose_beginning_is_not_known_has_no_sum():
    file, sums = _file(3 * BLOCK_BYTES), BlockSums()
    end = _put(file, sums, _START + 100, b"x" * 2 * BLOCK_BYTES)
    assert not sums.hold(file, _START + 100, _START + BLOCK_BYTES)
    assert sums.hold(file, _START + BLOCK_BYTES, end)


def test_a_large_message_is_not_summed():
    file, sums = _file(3 * BLOCK_BYTES), BlockSums()
    sums.add(file, _START, b"x" * (MESSAGE_MAX_BYTES + 1))
    assert not sums.hold(file, _START, _START + 1)


def test_the_oldest_sums_go(monkeypatch):
    monkeypatch.setattr(block_sums, "BLOCKS_MAX", 2)
    file, sums = _file(3 * BLOCK_BYTES), BlockSums()
    end = _put(file, sums, _START, b"x" * 3 * BLOCK_BYTES)
    assert not sums.hold(file, _START, _START + 1)
    assert sums.hold(file, _START + BLOCK_BYTES, end)
