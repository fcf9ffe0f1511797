"""A sum is right for exactly the bytes that were added, however they came."""

from __future__ import annotations

import pytest
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


def _hold(sums: BlockSums, file: MappedFile, first: int, last: int) -> bool:
    return sums.hold(file, [(first, last - first, 0)])


@given(st.lists(st.integers(1, 3 * BLOCK_BYTES), min_size=1, max_size=8), st.data())
def test_what_was_added_holds_until_a_bit_of_it_changes(sizes, data):
    file, sums, end = _file(sum(sizes)), BlockSums(), _START
    for number, size in enumerate(sizes):
        end = _put(file, sums, end, bytes((number + 1,)) * size)
    first = data.draw(st.integers(_START, end - 1))
    last = data.draw(st.integers(first + 1, end))
    assert _hold(sums, file, first, last)
    assert not _hold(sums, file, first, end + 1)
    changed = data.draw(st.integers(first, last - 1))
    file.file.write_at(changed - _START, b"?")
    assert not _hold(sums, file, first, last)


@given(st.lists(st.integers(1, BLOCK_BYTES), min_size=3, max_size=40), st.data())
def test_only_blocks_that_wanted_messages_touch_are_looked_at(sizes, data):
    file, sums, end = _file(sum(sizes)), BlockSums(), _START
    entries = []
    for size in sizes:
        entries.append((end, size, 0))
        end = _put(file, sums, end, b"x" * size)
    wanted = data.draw(st.lists(st.sampled_from(entries), min_size=1, unique=True).map(sorted))
    touched = {at // BLOCK_BYTES for offset, size, _ in wanted for at in range(offset, offset + size)}
    changed = data.draw(st.integers(_START, end - 1))
    file.file.write_at(changed - _START, b"?")
    assert sums.hold(file, wanted) is (changed // BLOCK_BYTES not in touched)


def test_a_block_whose_beginning_is_not_known_has_no_sum():
    file, sums = _file(3 * BLOCK_BYTES), BlockSums()
    end = _put(file, sums, _START + 100, b"x" * 2 * BLOCK_BYTES)
    assert not _hold(sums, file, _START + 100, _START + BLOCK_BYTES)
    assert _hold(sums, file, _START + BLOCK_BYTES, end)


def test_a_large_message_is_not_summed():
    file, sums = _file(4 * BLOCK_BYTES), BlockSums()
    small = _put(file, sums, _START, b"x" * 100)
    large = small + MESSAGE_MAX_BYTES + 1
    sums.add(file, small, b"x" * (large - small))
    end = _put(file, sums, large, b"x" * 2 * BLOCK_BYTES)
    assert not _hold(sums, file, small, small + 1)
    assert not _hold(sums, file, small, large)
    assert not _hold(sums, file, large, large + 1), "its block does not begin with what is known"
    assert _hold(sums, file, _START + 2 * BLOCK_BYTES, end)


@pytest.mark.parametrize("size", [100, MESSAGE_MAX_BYTES + 1])
def test_what_follows_in_a_block_and_was_not_added_does_not_hold(size):
    file, sums = _file(4 * BLOCK_BYTES), BlockSums()
    known = _put(file, sums, _START, b"x" * 100)
    assert _hold(sums, file, _START, known)
    assert not sums.hold(file, [(_START, 100, 0), (known, size, 0)])


def test_what_lies_behind_a_block_that_is_summed_again_does_not_hold_by_the_next_blocks_sum():
    file, sums = _file(3 * BLOCK_BYTES), BlockSums()
    _put(file, sums, _START, b"x" * 3 * BLOCK_BYTES)
    _put(file, sums, _START, b"x" * 100)  # a walk that rests
    message = (_START + BLOCK_BYTES - 200, 300, 0)
    assert not sums.hold(file, [message])
    assert _hold(sums, file, _START, _START + 100)
    assert _hold(sums, file, _START + BLOCK_BYTES, _START + 2 * BLOCK_BYTES)


def test_an_entry_that_leads_into_the_block_of_another_file_does_not_hold():
    disk, pool, sums = LabMachines().node("broker-a").disk, MappingPool(2), BlockSums()
    first, second = (MappedFile(disk, pool, "commitlog", start, BLOCK_BYTES) for start in (0, BLOCK_BYTES))
    sums.add(first, 0, b"x" * 100)
    sums.add(second, BLOCK_BYTES, b"x" * 100)
    assert not sums.hold(first, [(BLOCK_BYTES + 10, 50, 0)])


@pytest.mark.parametrize(
    "entry",
    [(_START, 0, 0), (_START + 50, -20, 0), (0, 50, 0), (_START - 1, 1, 0), (1 << 62, 50, 0), (_START, 1 << 62, 0)],
)
def test_entries_that_lead_out_of_the_file_do_not_hold(entry):
    file, sums = _file(2 * BLOCK_BYTES), BlockSums()
    _put(file, sums, _START, b"x" * 2 * BLOCK_BYTES)
    assert not sums.hold(file, [entry])


def test_the_sums_of_the_oldest_file_go(monkeypatch):
    monkeypatch.setattr(block_sums, "BLOCKS_MAX", 3)
    sums = BlockSums()
    disk, pool = LabMachines().node("broker-a").disk, MappingPool(2)
    files = [
        MappedFile(disk, pool, "commitlog", start, BLOCK_BYTES) for start in range(0, 5 * BLOCK_BYTES, BLOCK_BYTES)
    ]
    for file in files:
        file.file.write_at(0, b"x" * BLOCK_BYTES)
        sums.add(file, file.start_offset, b"x" * BLOCK_BYTES)
    assert [_hold(sums, file, file.start_offset, file.end_offset) for file in files] == [False, False, True, True, True]
