"""What survives on a simulated disk: everything, the flushed part, or the flushed part and torn pages."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.runtime.lab.lab_file_content import PAGE_BYTES, SECTOR_BYTES
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.port import DiskFault, DiskFull, FolderLocked

FILE_BYTES = 5 * PAGE_BYTES


@pytest.fixture
def world():
    with LabMachines(seed=1) as lab_world:
        yield lab_world


def test_a_power_cut_loses_exactly_what_was_not_flushed(world):
    runtime = world.node("broker")
    file = runtime.disk.open_file("log", FILE_BYTES)
    file.write_at(10, b"flushed")
    runtime.run(file.flush(0, FILE_BYTES))
    file.write_at(2 * PAGE_BYTES, b"not flushed")
    world.crash("broker", keep_page_cache=False)
    again = world.restart("broker").disk.open_file("log", FILE_BYTES)
    assert again.read_at(10, 7) == b"flushed"
    assert again.read_at(2 * PAGE_BYTES, 11) == bytes(11)


def test_a_killed_process_loses_nothing_that_it_wrote(world):
    file = world.node("broker").disk.open_file("log", FILE_BYTES)
    file.write_at(0, b"not flushed")
    world.crash("broker")
    assert world.restart("broker").disk.read_whole("log")[:11] == b"not flushed"


def test_a_flush_takes_time_and_a_crash_during_it_makes_nothing_durable(world):
    runtime = world.node("broker")
    file = runtime.disk.open_file("log", FILE_BYTES)
    file.write_at(0, b"a")
    begin_us = world.loop.now_us
    runtime.run(file.flush(0, 1))
    assert world.loop.now_us - begin_us == 2_000
    file.write_at(1, b"b")
    runtime.spawn(file.flush(0, 2), "flush")
    world.run_for(1)
    world.crash("broker", keep_page_cache=False)
    world.run_for(10)
    assert world.restart("broker").disk.read_whole("log")[:2] == b"a\0"


def test_a_write_during_a_flush_is_durable_only_after_the_next_one(world):
    runtime = world.node("broker")
    file = runtime.disk.open_file("log", FILE_BYTES)

    async def work():
        file.write_at(0, b"first ")
        flush = asyncio.create_task(file.flush(0, FILE_BYTES))
        await asyncio.sleep(0.001)
        file.write_at(6, b"second")
        await flush

    runtime.run(work())
    world.crash("broker", keep_page_cache=False)
    assert world.restart("broker").disk.read_whole("log")[:12] == b"first " + bytes(6)


@pytest.mark.parametrize("later", ["flush", "flush_now"])
def test_a_slow_flush_does_not_undo_a_quicker_one_that_began_later(world, later):
    runtime = world.node("broker")
    file = runtime.disk.open_file("log", FILE_BYTES)

    async def work():
        file.write_at(0, b"old")
        runtime.disk.storage.flush_us = 50_000
        slow = asyncio.create_task(file.flush(0, FILE_BYTES))
        await asyncio.sleep(0.001)
        file.write_at(0, b"new")
        runtime.disk.storage.flush_us = 1_000
        if later == "flush":
            await file.flush(0, FILE_BYTES)
        else:
            file.flush_now()
        await slow

    runtime.run(work())
    assert file.read_at(0, 3) == b"new"
    world.crash("broker", keep_page_cache=False)
    assert world.restart("broker").disk.read_whole("log")[:3] == b"new"


def test_a_flush_that_runs_brings_nothing_back_that_was_cut_off(world):
    runtime = world.node("broker")
    file = runtime.disk.open_append("log")
    file.append(b"x" * (PAGE_BYTES + 100))

    async def work():
        flush = asyncio.create_task(file.flush())
        await asyncio.sleep(0.001)
        file.truncate(10)
        await flush

    runtime.run(work())
    assert runtime.disk.storage.used_bytes == PAGE_BYTES
    file.append(bytes(PAGE_BYTES))
    assert file.read_at(0, 2 * PAGE_BYTES) == b"x" * 10 + bytes(PAGE_BYTES)


def test_a_power_cut_leaves_zeros_where_a_growing_file_was_not_flushed(world):
    runtime = world.node("broker")
    file = runtime.disk.open_append("log")
    file.append(b"x" * PAGE_BYTES)
    runtime.run(file.flush())
    file.append(b"y" * PAGE_BYTES)
    world.crash("broker", keep_page_cache=False)
    assert world.restart("broker").disk.read_whole("log") == b"x" * PAGE_BYTES + bytes(PAGE_BYTES)


def test_a_flush_makes_only_its_range_durable(world):
    runtime = world.node("broker")
    file = runtime.disk.open_file("log", FILE_BYTES)
    file.write_at(0, b"a")
    file.write_at(3 * PAGE_BYTES, b"b")
    runtime.run(file.flush(3 * PAGE_BYTES, 3 * PAGE_BYTES + 1))
    world.crash("broker", keep_page_cache=False)
    content = world.restart("broker").disk.read_whole("log")
    assert (content[0], content[3 * PAGE_BYTES]) == (0, ord("b"))


def test_a_torn_write_leaves_whole_sectors_of_some_pages_and_one_seed_tears_one_way():
    def content_after_tearing(seed):
        with LabMachines(seed) as world:
            file = world.node("broker").disk.open_file("log", 40 * PAGE_BYTES)
            file.write_at(0, b"x" * 40 * PAGE_BYTES)
            world.crash("broker", keep_page_cache=False, torn=True)
            return world.restart("broker").disk.read_whole("log")

    content = content_after_tearing(1)
    sectors = [content[start : start + SECTOR_BYTES] for start in range(0, len(content), SECTOR_BYTES)]
    assert {bytes(sector[:1]) * SECTOR_BYTES == sector for sector in sectors} == {True}
    pages = [content[start : start + PAGE_BYTES].count(b"x") for start in range(0, len(content), PAGE_BYTES)]
    assert 0 in pages
    assert PAGE_BYTES in pages
    assert any(0 < kept < PAGE_BYTES for kept in pages)
    assert content_after_tearing(1) == content
    assert content_after_tearing(2) != content


def test_files_written_whole_survive_a_power_cut(world):
    world.node("broker").disk.write_whole("config/topics.json", b"{}" * 5_000)
    world.crash("broker", keep_page_cache=False)
    assert world.restart("broker").disk.read_whole("config/topics.json") == b"{}" * 5_000


def test_a_full_disk_refuses_writes_and_loses_nothing(world):
    disk = world.node("broker").disk
    disk.storage.capacity_bytes = 3 * PAGE_BYTES
    file = disk.open_file("log", 100 * PAGE_BYTES)
    file.write_at(0, b"x" * 3 * PAGE_BYTES)
    assert disk.used_ratio() == 1.0
    with pytest.raises(DiskFull, match="cannot write log: the disk is full"):
        file.write_at(3 * PAGE_BYTES, b"y")
    file.write_at(0, b"overwriting needs no room")
    with pytest.raises(DiskFull):
        disk.write_whole("config/a", b"z")
    assert not disk.exists("config/a")
    disk.remove("log")
    assert disk.used_ratio() == 0.0


def test_room_that_others_take_counts(world):
    disk = world.node("broker").disk
    disk.storage.occupied_bytes = disk.storage.capacity_bytes * 9 // 10
    assert disk.used_ratio() == pytest.approx(0.9)


def test_a_failing_flush_says_why_and_makes_nothing_durable(world):
    runtime = world.node("broker")
    file = runtime.disk.open_file("log", FILE_BYTES)
    file.write_at(0, b"x")
    runtime.disk.storage.flush_error = "input/output error"
    with pytest.raises(DiskFault, match="cannot flush log: input/output error"):
        runtime.run(file.flush(0, 1))
    world.crash("broker", keep_page_cache=False)
    assert world.restart("broker").disk.read_whole("log")[:1] == b"\0"


def test_a_crash_releases_the_folder_lock(world):
    world.node("broker").disk.lock_folder()
    with pytest.raises(FolderLocked, match="broker"):
        world.node("broker").disk.lock_folder()
    world.crash("broker")
    world.restart("broker").disk.lock_folder()


def test_a_gigabyte_file_costs_only_its_written_pages(world):
    disk = world.node("broker").disk
    file = disk.open_file("log", 1 << 30)
    file.write_at(1 << 29, b"x" * 100)
    assert disk.storage.used_bytes == PAGE_BYTES


def test_a_file_is_modified_when_it_is_written_by_the_nodes_own_clock(world):
    runtime = world.node("broker")
    runtime.clock.skew_ms = 5_000
    file = runtime.disk.open_file("log", FILE_BYTES)
    world.run_for(1_234)
    file.write_at(0, b"x")
    assert runtime.disk.modified_ms("log") == runtime.clock.now_ms() == 1_767_225_600_000 + 6_234


def test_files_belong_to_their_node(world):
    world.node("a").disk.write_whole("x", b"a")
    assert not world.node("b").disk.exists("x")


class DiskModel(RuleBasedStateMachine):
    """A lab file against two byte strings: what a read must give, and what a power cut must leave."""

    @initialize()
    def begin(self):
        self.world = LabMachines(seed=1)
        self.written = bytearray(FILE_BYTES)
        self.durable = bytearray(FILE_BYTES)
        self.open()

    def open(self):
        self.file = self.world.node("n").disk.open_file("f", FILE_BYTES)

    @rule(position=st.integers(0, FILE_BYTES - 1), length=st.integers(0, 3 * PAGE_BYTES), seed=st.integers(0, 99))
    def write(self, position, length, seed):
        data = random.Random(seed).randbytes(min(length, FILE_BYTES - position))
        self.file.write_at(position, data)
        self.written[position : position + len(data)] = data

    @rule(start=st.integers(0, FILE_BYTES), length=st.integers(0, FILE_BYTES))
    def flush(self, start, length):
        end = min(start + length, FILE_BYTES)
        self.world.run(self.file.flush(start, end))
        # A disk writes pages: the whole of each page that the range touches.
        first, last = start // PAGE_BYTES * PAGE_BYTES, -(-end // PAGE_BYTES) * PAGE_BYTES
        self.durable[first:last] = self.written[first:last]

    @rule(keep_page_cache=st.booleans())
    def crash(self, keep_page_cache):
        self.world.crash("n", keep_page_cache)
        self.world.restart("n")
        if not keep_page_cache:
            self.written[:] = self.durable
        self.open()

    @rule(position=st.integers(0, FILE_BYTES - 1), length=st.integers(0, 3 * PAGE_BYTES))
    def read(self, position, length):
        length = min(length, FILE_BYTES - position)
        assert self.file.read_at(position, length) == self.written[position : position + length]

    @invariant()
    def the_whole_file_and_the_room_it_takes_are_right(self):
        if hasattr(self, "file"):
            assert self.file.read_at(0, FILE_BYTES) == self.written
            content = self.world.storages["n"].files["f"]
            assert self.world.storages["n"].used_bytes == content.page_count() * PAGE_BYTES

    def teardown(self):
        if hasattr(self, "world"):
            self.world.close()


TestDiskModel = DiskModel.TestCase
TestDiskModel.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
