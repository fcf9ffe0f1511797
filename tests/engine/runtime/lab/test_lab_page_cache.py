"""What a bounded page cache keeps, what it costs, and what it never changes: the bytes of the files."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.runtime.lab.lab_file_content import PAGE_BYTES
from engine.runtime.lab.lab_network import DEFAULT_LATENCY_US
from engine.runtime.lab.lab_page_cache import EXTENT_PAGES, LabPageCache, PageCacheLimits
from engine.runtime.lab.lab_runtime import LabMachines
from tests.support.lab.runtime_handlers import CollectingHandler, frame_of

SEEK_US, PAGE_US, SYNC_US = 8_000, 100, 2_000
LIMITS = PageCacheLimits(16, 8, 50, SEEK_US, PAGE_US, PAGE_US)
FILE_PAGES = 40


def machine(world: LabMachines, limits: PageCacheLimits = LIMITS, node: str = "n") -> LabPageCache:
    """A node with a page cache of these limits."""
    world.node(node)
    storage = world.storages[node]
    storage.page_cache = LabPageCache(limits, storage.files, lambda: world.loop.now_us)
    return storage.page_cache


@pytest.fixture
def world():
    with LabMachines(seed=1) as lab_world:
        yield lab_world


class Files:
    """A file of flushed pages that are not in memory, and its cache."""

    def __init__(self, world: LabMachines, limits: PageCacheLimits = LIMITS) -> None:
        self.world = world
        self.cache = machine(world, limits)
        self.file = world.node("n").disk.open_file("log", FILE_PAGES * PAGE_BYTES)
        for page in range(FILE_PAGES):
            self.file.write_at(page * PAGE_BYTES, bytes([page + 1]) * PAGE_BYTES)
        world.run(self.file.flush(0, FILE_PAGES * PAGE_BYTES), node="n")
        self.cache.drop_clean()
        self.cache.moves.clear()
        world.run_for(10_000)

    def read(self, page: int, pages: int = 1) -> int:
        """Virtual time in which the node stood still for it."""
        begin_us = self.world.loop.now_us

        async def reads() -> None:
            self.file.read_at(page * PAGE_BYTES, pages * PAGE_BYTES)
            await asyncio.sleep(0)

        self.world.run(reads(), node="n")
        return self.world.loop.now_us - begin_us

    def moves(self) -> list[tuple[str, int, int, bool]]:
        reported = [(move.kind, move.page, move.pages, move.is_seek) for move in self.cache.moves]
        self.cache.moves.clear()
        return reported


def test_a_page_in_memory_costs_nothing_and_one_on_the_disk_a_seek_and_a_transfer(world):
    files = Files(world)
    assert files.read(20) == SEEK_US + PAGE_US
    assert files.read(20) == 0
    assert (files.cache.figures.misses, files.cache.figures.hits) == (1, 1)


def test_pages_side_by_side_are_read_with_one_seek(world):
    files = Files(world)
    assert files.read(20, pages=3) == SEEK_US + 3 * PAGE_US
    assert files.cache.figures.misses == 3
    assert files.moves() == [("read", 20, 3, True)]


def test_read_ahead_doubles_as_long_as_reads_are_sequential_and_is_used_without_waiting(world):
    files = Files(world)
    waits_us = [files.read(page) for page in range(20)]
    assert files.moves() == [
        ("read", 0, 1, True),
        ("ahead", 1, 1, False),
        ("read", 2, 1, False),
        ("ahead", 3, 3, False),
        ("read", 6, 1, False),
        ("ahead", 7, 7, False),
        ("read", 14, 1, False),
        ("ahead", 15, 7, False),
    ]
    assert [page for page, wait_us in enumerate(waits_us) if wait_us] == [0, 2, 6, 14]
    figures = files.cache.figures
    assert (figures.misses, figures.read_ahead_hits, figures.read_ahead_wasted) == (4, 16, 0)


def test_random_reads_read_nothing_ahead(world):
    files = Files(world)
    for page in (31, 7, 22, 3, 14):
        assert files.read(page) == SEEK_US + PAGE_US
    assert files.cache.figures.read_ahead == 0


def test_what_was_read_ahead_and_pushed_out_unused_is_wasted(world):
    files = Files(world)
    files.read(0)
    for page in range(39, 8, -2):
        files.read(page)
    assert files.cache.figures.read_ahead == files.cache.figures.read_ahead_wasted == 1


def test_a_page_used_twice_outlives_a_scan_of_pages_used_once(world):
    files = Files(world)
    files.read(30)
    files.read(30)
    for page in range(0, 28, 2):
        files.read(page)
    assert ("log", 30) in files.cache
    assert ("log", 0) not in files.cache


def test_dirty_pages_are_written_back_by_who_makes_too_many_and_never_evicted_before(world):
    cache = machine(world)
    file = world.node("n").disk.open_file("log", FILE_PAGES * PAGE_BYTES)
    for page in range(9):
        file.write_at(page * PAGE_BYTES, b"x")
    assert (len(cache.dirty), cache.figures.write_backs) == (LIMITS.dirty_pages, 1)
    world.crash("n", keep_page_cache=False)
    again = world.restart("n").disk.open_file("log", FILE_PAGES * PAGE_BYTES)
    assert [again.read_at(page * PAGE_BYTES, 1) for page in range(3)] == [b"x", b"\0", b"\0"]


def test_a_write_into_a_page_that_is_on_the_disk_only_reads_it_first(world):
    files = Files(world)

    async def write() -> None:
        files.file.write_at(20 * PAGE_BYTES + 5, b"new")

    files.world.run(write(), node="n")
    assert files.moves() == [("read", 20, 1, True)]
    assert files.file.read_at(20 * PAGE_BYTES + 4, 5) == b"\x15new\x15"


def test_a_flush_takes_the_arms_way_and_the_sync_and_others_run_meanwhile(world):
    files = Files(world)
    runtime = world.node("n")
    files.file.write_at(0, bytes(PAGE_BYTES))
    files.file.write_at(30 * PAGE_BYTES, bytes(PAGE_BYTES))
    world.run_for(100)
    begin_us = world.loop.now_us
    flush = runtime.spawn(files.file.flush(0, FILE_PAGES * PAGE_BYTES), "flush")
    world.run_for(1)
    assert list(files.cache.flushing) == [("log", 0), ("log", 30)]
    runtime.run(asyncio.sleep(0))
    world.run(flush)
    assert world.loop.now_us - begin_us == 2 * (SEEK_US + PAGE_US) + SYNC_US
    assert (files.cache.flushing, files.cache.dirty) == ({}, {})


def test_a_read_waits_until_the_arm_is_free(world):
    files = Files(world)
    files.file.write_at(0, bytes(PAGE_BYTES))
    world.run_for(100)
    world.node("n").spawn(files.file.flush(0, PAGE_BYTES), "flush")
    world.run_for(0)
    assert files.read(20) == 2 * (SEEK_US + PAGE_US) + SYNC_US


def test_a_node_that_waits_for_its_disk_does_nothing_else_and_others_go_on(world):
    files = Files(world)
    ticks: list[tuple[str, int]] = []

    async def tick(name: str) -> None:
        for _ in range(4):
            await asyncio.sleep(0.003)
            ticks.append((name, world.loop.now_us - begin_us))

    begin_us = world.loop.now_us
    world.node("n").spawn(tick("n"), "ticks")
    world.node("other").spawn(tick("other"), "ticks")
    files.read(20)
    world.run_for(50)
    assert [at for name, at in ticks if name == "other"] == [3_000, 6_000, 9_000, 12_000]
    assert next(at for name, at in ticks if name == "n") == SEEK_US + PAGE_US


def test_what_a_waiting_node_sends_leaves_when_its_disk_is_done(world):
    files = Files(world)
    arrivals_us: list[int] = []

    class Server(CollectingHandler):
        def frame_received(self, frame):
            arrivals_us.append(world.loop.now_us - begin_us)

    client, network = CollectingHandler(), world.node("other").network
    listener = world.run(network.listen("", 0, Server), node="other")
    world.run(world.node("n").network.connect(listener.address, client, 1_000), node="n")

    async def send() -> None:
        client.connection.send_frame(frame_of(b"before"))
        files.file.read_at(20 * PAGE_BYTES, 1)
        client.connection.send_frame(frame_of(b"after"))

    begin_us = world.loop.now_us
    world.run(send(), node="n")
    world.run_for(50)
    assert arrivals_us == [DEFAULT_LATENCY_US, DEFAULT_LATENCY_US + SEEK_US + PAGE_US]


def test_a_pause_outlasts_the_wait_for_the_disk(world):
    files = Files(world)

    async def reads() -> None:
        files.file.read_at(20 * PAGE_BYTES, 1)
        await asyncio.sleep(0)

    task = world.node("n").spawn(reads(), "reads")
    world.run_for(1)
    world.pause("n")
    world.run_for(100)
    assert not task.done()
    world.resume("n")
    world.run_for(0)
    assert task.done()


def test_a_wait_ends_with_its_last_read_and_early_when_somebody_makes_its_time_come(world):
    files = Files(world)

    async def reads() -> None:
        files.file.read_at(20 * PAGE_BYTES, 1)
        files.file.read_at(30 * PAGE_BYTES, 1)
        await asyncio.sleep(0)

    task = world.node("n").spawn(reads(), "reads")
    world.run_for(10)
    assert not task.done()
    (timer,) = [event for event in world.loop.schedule.running_timers() if event.actor.name == "n/disk"]
    world.loop.schedule.fire_now(timer)
    world.run_for(0)
    assert task.done()


def test_who_looks_from_outside_costs_nothing_and_leaves_no_trace(world):
    files = Files(world)
    before = (files.cache.figures.misses, len(files.cache), world.loop.event_number)
    assert files.file.read_at(20 * PAGE_BYTES, 1) == b"\x15"
    assert (files.cache.figures.misses, len(files.cache), world.loop.event_number) == before


def test_work_off_the_loop_waits_for_the_disk_alone(world):
    files = Files(world)
    runtime = world.node("n")

    async def beside() -> int:
        begin_us = world.loop.now_us
        task = asyncio.create_task(runtime.disk.off_loop(lambda: files.file.read_at(20 * PAGE_BYTES, 1)))
        await asyncio.sleep(0.004)
        assert world.loop.now_us == begin_us + 4_000
        await task
        return world.loop.now_us - begin_us

    assert world.run(beside(), node="n") == world.storages["n"].flush_us + SEEK_US + PAGE_US


def test_two_files_that_grow_in_turns_lie_in_turns_on_the_disk(world):
    cache = machine(world)
    disk = world.node("n").disk
    files = [disk.open_append(name) for name in ("a", "b")]
    for _ in range(2 * EXTENT_PAGES):
        for file in files:
            file.append(bytes(PAGE_BYTES))
            world.run(file.flush(), node="n")
    starts = {(move.path, move.page): move.place for move in cache.moves}
    assert starts["a", EXTENT_PAGES] == 2 * EXTENT_PAGES
    assert starts["b", EXTENT_PAGES] == 3 * EXTENT_PAGES
    # Only at the ends of the extents does one stretch follow the other.
    assert cache.figures.sequential_bytes == 2 * PAGE_BYTES


def test_a_small_file_that_is_replaced_keeps_its_place_and_a_renamed_file_its_pages(world):
    cache = machine(world)
    disk = world.node("n").disk
    disk.write_whole("config", b"1")
    disk.write_whole("config", b"2")
    assert [move.place for move in cache.moves] == [0, 0]
    disk.rename("config", "config.bak")
    assert ("config.bak", 0) in cache
    assert ("config", 0) not in cache
    disk.remove("config.bak")
    assert len(cache) == 0


class CacheModel(RuleBasedStateMachine):
    """Two files, one mapped and one that grows, against byte strings, with memory for fewer pages than they have."""

    @initialize(pages=st.integers(8, 20), ahead=st.integers(1, 12), dirty=st.integers(1, 100))
    def begin(self, pages, ahead, dirty):
        self.world = LabMachines(seed=1)
        self.cache = machine(self.world, PageCacheLimits(pages, ahead, dirty, SEEK_US, PAGE_US, PAGE_US))
        self.bytes = {"mapped": bytearray(FILE_PAGES * PAGE_BYTES), "grows": bytearray()}
        self.open()

    def open(self):
        disk = self.world.node("n").disk
        self.mapped, self.grows = disk.open_file("mapped", FILE_PAGES * PAGE_BYTES), disk.open_append("grows")

    def contents(self):
        return self.world.storages["n"].files

    @rule(page=st.integers(0, FILE_PAGES - 3), start=st.integers(0, PAGE_BYTES), length=st.integers(0, 2 * PAGE_BYTES))
    def write(self, page, start, length):
        position, data = page * PAGE_BYTES + start, random.Random(length).randbytes(length)
        self.mapped.write_at(position, data)
        self.bytes["mapped"][position : position + length] = data

    @rule(length=st.integers(0, 3 * PAGE_BYTES))
    def append(self, length):
        data = random.Random(length).randbytes(length)
        self.grows.append(data)
        self.bytes["grows"] += data

    @rule(share=st.floats(0, 1))
    def truncate(self, share):
        size = int(len(self.bytes["grows"]) * share)
        self.grows.truncate(size)
        del self.bytes["grows"][size:]

    @rule(path=st.sampled_from(["mapped", "grows"]), share=st.floats(0, 1), length=st.integers(0, 5 * PAGE_BYTES))
    def read(self, path, share, length):
        whole = self.bytes[path]
        position = int(len(whole) * share)
        length = min(length, len(whole) - position)
        content = self.contents()[path]
        first, last = position // PAGE_BYTES, -(-(position + length) // PAGE_BYTES) if length else 0

        async def reads():
            return (self.mapped if path == "mapped" else self.grows).read_at(position, length)

        figures, before = self.cache.figures, self.cache.figures.hits + self.cache.figures.misses
        wanted = sum(page in content.clean or page in content.dirty for page in range(first, last))
        assert self.world.run(reads(), node="n") == whole[position : position + length]
        assert figures.hits + figures.misses - before == wanted

    @rule(path=st.sampled_from(["mapped", "grows"]))
    def flush(self, path):
        work = self.mapped.flush(0, FILE_PAGES * PAGE_BYTES) if path == "mapped" else self.grows.flush()
        self.world.run(work, node="n")
        assert self.contents()[path].dirty == {}

    @rule()
    def drop_caches(self):
        self.cache.drop_clean()
        assert len(self.cache) == len(self.cache.dirty)

    @rule(keep_page_cache=st.booleans())
    def crash(self, keep_page_cache):
        lost = [] if keep_page_cache else list(self.cache.dirty)
        self.world.crash("n", keep_page_cache)
        self.world.restart("n")
        for path, page in lost:
            start, whole = page * PAGE_BYTES, self.bytes[path]
            old = self.contents()[path].clean.get(page, bytes(PAGE_BYTES))
            whole[start : start + PAGE_BYTES] = old[: len(whole) - start]
        self.open()

    @invariant()
    def no_byte_is_changed(self):
        if hasattr(self, "mapped"):
            assert self.mapped.read_at(0, FILE_PAGES * PAGE_BYTES) == self.bytes["mapped"]
            assert self.grows.read_at(0, len(self.bytes["grows"])) == self.bytes["grows"]

    @invariant()
    def the_bounds_hold_and_what_is_dirty_is_in_memory(self):
        if hasattr(self, "mapped"):
            cache = self.cache
            assert len(cache) <= cache.limits.cache_pages
            assert len(cache.dirty) <= cache.limits.dirty_pages
            dirty = {(path, page) for path, content in self.contents().items() for page in content.dirty}
            assert dirty == set(cache.dirty)
            assert all(key in cache for key in dirty)
            assert all(key in cache and key not in cache.dirty for key in cache.ahead)

    @invariant()
    def counts_add_up(self):
        if hasattr(self, "mapped"):
            figures = self.cache.figures
            unused = figures.read_ahead - figures.read_ahead_hits - figures.read_ahead_wasted
            assert unused >= len(self.cache.ahead)
            written = figures.flushed_pages + figures.write_backs
            read = figures.misses + figures.read_ahead
            assert figures.transferred_bytes == (written + read) * PAGE_BYTES
            assert figures.sequential_bytes <= figures.transferred_bytes

    def teardown(self):
        if hasattr(self, "world"):
            self.world.close()


TestCacheModel = CacheModel.TestCase
TestCacheModel.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
