"""One consume queue: entries at their places."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.consume_queue_entry import CONSUME_QUEUE_ENTRY, FILLER_SIZE
from engine.store.files.mapping_pool import MappingPool
from engine.store.queues.consume_queue import ConsumeQueue

PER_FILE = 10


def new_queue(world: LabMachines) -> ConsumeQueue:
    return ConsumeQueue(world.node("broker-a").disk, MappingPool(5), "T", 0, PER_FILE * 20)


@pytest.fixture
def queue():
    with LabMachines() as world:
        yield new_queue(world)


def put(queue, first, count=1):
    entries = [CONSUME_QUEUE_ENTRY.pack(1_000 * number, 100, number) for number in range(first, first + count)]
    queue.put_entries(first, b"".join(entries))


def entry(number):
    return (1_000 * number, 100, number)


def test_entries_go_over_file_borders_in_one_write(queue):
    put(queue, 0, 25)
    assert queue.entries(0, 100) == [entry(number) for number in range(25)]
    assert queue.entries(8, 4) == [entry(8), entry(9), entry(10), entry(11)]
    assert len(queue.files.files) == 3
    assert (queue.max_offset, queue.next_offset) == (25, 25)
    assert [at for at, _ in queue.entries_backward()] == list(range(24, -1, -1))


def test_left_out_offsets_get_fillers(queue):
    put(queue, 0)
    put(queue, 3)
    assert [size for _, size, _ in queue.entries(0, 10)] == [100, FILLER_SIZE, FILLER_SIZE, 100]
    queue.skip_to(6)
    assert queue.max_offset == 6
    queue.skip_to(2)
    assert queue.max_offset == 6


def test_a_queue_that_begins_late_begins_with_the_file_of_its_first_entry(queue):
    put(queue, 37)
    assert queue.files.files[0].path.endswith("00000000000000000600")
    assert queue.first_entry_offset == 30
    assert queue.entries(0, 100)[-1] == entry(37)
    assert {size for _, size, _ in queue.entries(30, 7)} == {FILLER_SIZE}
    queue.correct_min_offset(0)
    assert queue.min_offset == 37


def test_entries_written_again_change_nothing(queue):
    put(queue, 0, 15)
    put(queue, 5, 5)
    assert queue.entries(0, 100) == [entry(number) for number in range(15)]
    assert queue.max_offset == 15


@settings(deadline=None)
@given(st.integers(1, 40), st.lists(st.integers(0, 39)), st.integers(0, 45_000))
def test_the_min_offset_is_the_first_message_that_the_log_still_has(count, left_out, min_log_offset):
    with LabMachines() as world:
        queue = new_queue(world)
        there = [number for number in range(count) if number not in left_out]
        for number in there:
            put(queue, number)
        queue.skip_to(count)
        queue.correct_min_offset(min_log_offset)
        expected = [number for number in there if 1_000 * number >= min_log_offset]
        assert queue.min_offset == (expected[0] if expected else count)


def test_a_damaged_first_entry_does_not_bring_back_what_has_long_expired():
    with LabMachines() as world:
        queue = ConsumeQueue(world.node("broker-a").disk, MappingPool(5), "T", 0, 2_000 * 20)
        put(queue, 0, 2_000)
        queue.files.write(0, CONSUME_QUEUE_ENTRY.pack(1 << 40, 100, 0))
        queue.correct_min_offset(1_500_000)
        assert queue.min_offset == 1_500


def test_loading_finds_the_end_by_what_is_written():
    with LabMachines() as world:
        queue = new_queue(world)
        queue.put_entries(0, b"".join(CONSUME_QUEUE_ENTRY.pack(256 * number, 256, 0) for number in range(14)))
        again = new_queue(world)
        assert again.load() == []
        assert again.max_offset == again.next_offset == 14
        again.clear_from(12)
        third = new_queue(world)
        third.load()
        assert third.max_offset == 12


def test_files_whose_messages_have_expired_are_deleted_but_never_the_last(queue):
    put(queue, 0, 35)
    assert queue.remove_expired_files(19_000) == 1
    assert queue.first_entry_offset == 10
    assert queue.remove_expired_files(1_000_000) == 2
    assert queue.first_entry_offset == 30
    assert queue.entries(0, 100) == [entry(number) for number in range(30, 35)]
