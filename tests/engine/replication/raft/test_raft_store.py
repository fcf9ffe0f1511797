"""What a peer must not forget is on its disk; what a power cut tears is cut off."""

from __future__ import annotations

import struct
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.replication.raft.hard_state import HardState, JoinReason
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.replication.raft.raft_output import RaftOutput
from engine.replication.raft.raft_state_file import COPIES_AT, STATE_FILE_BYTES
from engine.replication.raft.raft_store import ChainedFile, RaftStore
from engine.runtime.lab.lab_runtime import LabMachines, LabRuntime
from engine.runtime.port import DiskFault


def entries(first: int, *terms: int) -> list[RaftEntry]:
    return [
        RaftEntry(first + number, term, EntryKind.DATA, b"%d of %d" % (number, term))
        for number, term in enumerate(terms)
    ]


def outputs(*outputs_: RaftOutput) -> Callable[[RaftStore], Coroutine[Any, Any, None]]:
    async def write(store: RaftStore) -> None:
        for output in outputs_:
            await store.write(output)

    return write


def opened(runtime: LabRuntime, applied_index: int = 0, *, is_first_start: bool = False) -> RaftStore:
    numbers = iter(range(7, 100))
    return RaftStore(runtime.disk, applied_index, draw_number=lambda: next(numbers), is_first_start=is_first_start)


def kept(
    work: Callable[[RaftStore], Coroutine[Any, Any, None]],
    spoil: Callable[[LabMachines], None] = lambda world: None,
    applied_index: int = 0,
) -> tuple[HardState, Sequence[RaftEntry]]:
    """What is there after ``work``, a power cut, and ``spoil``."""

    async def run(runtime: LabRuntime) -> None:
        await work(opened(runtime, is_first_start=True))

    with LabMachines(seed=1) as world:
        world.run(run(world.node("A")), node="A")
        world.crash("A", keep_page_cache=False)
        spoil(world)
        found = opened(world.restart("A"), applied_index).saved
        world.crash("A", keep_page_cache=False)
        again = opened(world.restart("A")).saved
        assert again == found, "a second start says the same"
        return found


def flip(path: str, bit: int) -> Callable[[LabMachines], None]:
    def spoil(world: LabMachines) -> None:
        content = world.storages["A"].files[path]
        content.corrupt(bit // 8, content.read(bit // 8, 1)[0] ^ 1 << bit % 8)

    return spoil


def remove(path: str) -> Callable[[LabMachines], None]:
    return lambda world: world.storages["A"].discard(path)


def cut(path: str, size_bytes: int) -> Callable[[LabMachines], None]:
    return lambda world: world.storages["A"].truncate(path, size_bytes)


def log_size(work: Callable[[RaftStore], Coroutine[Any, Any, None]]) -> int:
    sizes: list[int] = []
    kept(work, lambda world: sizes.append(world.storages["A"].files["raft/log"].size_bytes))
    return sizes[0]


def test_term_vote_and_log_survive_a_power_cut():
    write = outputs(RaftOutput(HardState(3, "B"), entries(1, 1, 1, 3)), RaftOutput(HardState(4, "")))
    assert kept(write) == (HardState(4, ""), entries(1, 1, 1, 3))


def test_what_conflicts_gives_way():
    write = outputs(RaftOutput(None, entries(1, 1, 1, 1)), RaftOutput(None, entries(2, 2)))
    assert kept(write)[1] == [*entries(1, 1), *entries(2, 2)]


def test_a_vote_that_was_not_flushed_is_forgotten():
    async def write(store: RaftStore) -> None:
        await store.write(RaftOutput(HardState(1, "A")))
        await store.write(RaftOutput(HardState(2, "B")), flushes_state=False)

    assert kept(write)[0] == HardState(1, "A")


WRITTEN = entries(1, 1, 1, 2, 2, 5)
WRITES = outputs(RaftOutput(HardState(5, "B"), WRITTEN))


def test_an_empty_folder_is_a_new_members_unless_an_operator_says_that_its_group_is_new():
    with LabMachines(seed=1) as world:
        assert opened(world.node("A"), is_first_start=True).saved == (HardState(), [])
        assert opened(world.node("B")).saved == (HardState(0, "", 7, JoinReason.NEW), [])
        assert opened(world.restart("B")).saved[0].joining == 7, "a restart is no other joining"


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_flipped_bit_of_the_acknowledged_log_makes_a_joining_member(data: st.DataObject):
    bit = data.draw(st.integers(0, 8 * log_size(WRITES) - 1))
    state, found = kept(WRITES, flip("raft/log", bit))
    assert found == WRITTEN[: len(found)]
    assert len(found) < len(WRITTEN)
    assert (state.term, state.joining, state.reason) == (5, 7, JoinReason.DAMAGED_LOG)


@pytest.mark.parametrize("lost", range(1, 6))
def test_a_log_that_ends_before_what_was_acknowledged_makes_a_joining_member(lost: int):
    sizes: list[int] = []

    async def write(store: RaftStore) -> None:
        for entry in WRITTEN:
            sizes.append(store._entries.file.size_bytes)
            await store.write(RaftOutput(HardState(5), [entry]))

    def cut_off(world: LabMachines) -> None:
        world.storages["A"].truncate("raft/log", sizes[-lost])

    state, found = kept(write, cut_off)
    assert found == WRITTEN[:-lost]
    assert state.reason is JoinReason.DAMAGED_LOG


@given(st.integers(0, 8 * 40))
@settings(deadline=None, max_examples=60)
def test_what_was_not_acknowledged_may_be_torn_anywhere(torn_bit: int):
    async def write(store: RaftStore) -> None:
        await WRITES(store)
        store._entries.append([((7, 5, EntryKind.DATA), b"never acknowledged, but long")])
        store._entries.file.flush_now()

    assert kept(write, flip("raft/log", 8 * log_size(WRITES) + torn_bit)) == (HardState(5, "B"), WRITTEN)


def test_what_was_not_acknowledged_stays_if_it_is_whole():
    async def write(store: RaftStore) -> None:
        await WRITES(store)
        store._entries.append([((7, 5, EntryKind.DATA), b"whole")])
        store._entries.file.flush_now()

    assert kept(write) == (HardState(5, "B"), [*WRITTEN, RaftEntry(7, 5, EntryKind.DATA, b"whole")])


@given(st.sampled_from(COPIES_AT), st.integers(0, 8 * 60))
@settings(deadline=None, max_examples=60)
def test_no_flipped_bit_of_the_state_makes_a_member_forget_its_vote(copy: int, bit: int):
    assert kept(WRITES, flip("raft/state", 8 * copy + bit)) == (HardState(5, "B"), WRITTEN)


@pytest.mark.parametrize(
    "spoil",
    [
        remove("raft/state"),
        cut("raft/state", 0),
        lambda world: [flip("raft/state", 8 * copy + 99)(world) for copy in COPIES_AT],
    ],
    ids=["removed", "emptied", "both copies damaged"],
)
def test_a_state_that_is_gone_makes_a_joining_member_that_keeps_its_log(spoil: Callable[[LabMachines], None]):
    assert kept(WRITES, spoil) == (HardState(5, "", 7, JoinReason.LOST_STATE), WRITTEN)


def test_a_state_older_than_the_log_makes_a_joining_member():
    """The folder got a copy of the file that somebody had made before."""
    old: list[bytes] = []

    async def write(store: RaftStore) -> None:
        await store.write(RaftOutput(HardState(2, "B"), entries(1, 1, 2)))
        old.append(store._states._file.read_at(0, STATE_FILE_BYTES))
        await store.write(RaftOutput(HardState(4, "C"), entries(3, 4)))

    def put_back(world: LabMachines) -> None:
        world.storages["A"].files["raft/state"].write(0, memoryview(old[0]))

    state, found = kept(write, put_back)
    assert (state.term, state.reason, len(found)) == (4, JoinReason.LOST_STATE, 3)


def test_a_log_shorter_than_what_was_applied_makes_a_joining_member():
    with LabMachines(seed=1) as world:
        world.run(WRITES(opened(world.node("A"), is_first_start=True)), node="A")
        assert opened(world.restart("A"), applied_index=7).saved[0].reason is JoinReason.DAMAGED_LOG


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 1 << 30), st.integers(0, 12_000))
def test_a_power_cut_in_the_middle_of_a_write_is_no_damage(seed: int, after_us: int):
    """A vote and entries that conflict are being written; chance sectors of them reach the disk."""
    with LabMachines(seed=seed) as world:
        store = opened(world.node("A"), is_first_start=True)
        world.run(WRITES(store), node="A")
        acknowledged: list[bool] = []

        async def write() -> None:
            await store.write(RaftOutput(HardState(7, "C"), entries(4, 7)))
            acknowledged.append(True)

        world.node("A").spawn(write(), "writes")
        end_us = world.loop.now_us + after_us
        while world.loop.run_events(1, end_us, lambda: False):
            pass
        world.crash("A", keep_page_cache=False, torn=True)
        state, found = opened(world.restart("A")).saved
        assert state in ([HardState(7, "C")] if acknowledged else [HardState(7, "C"), HardState(5, "B")])
        assert found[:3] == WRITTEN[:3]
        assert not acknowledged or found[3:] == entries(4, 7)


def test_the_files_of_an_older_version_are_taken_over():
    async def write(runtime: LabRuntime) -> None:
        states = ChainedFile(runtime.disk, "raft/state", struct.Struct(">Q"))
        states.append([((3,), b"A"), ((5,), b"B")])
        log = ChainedFile(runtime.disk, "raft/log", struct.Struct(">QQB"))
        log.append([((entry.index, entry.term, entry.kind), entry.data) for entry in WRITTEN])

    with LabMachines(seed=1) as world:
        world.run(write(world.node("A")), node="A")
        assert opened(world.restart("A")).saved == (HardState(5, "B"), WRITTEN)
        assert opened(world.restart("A")).saved == (HardState(5, "B"), WRITTEN)


def test_damaged_data_of_an_entry_is_not_sent_to_anybody():
    with LabMachines(seed=1) as world:
        store = opened(world.node("A"), is_first_start=True)
        world.run(WRITES(store), node="A")
        assert store.data_of(2) == WRITTEN[1].data
        flip("raft/log", 8 * (store._entries._ends[2][0] - 1))(world)
        with pytest.raises(DiskFault, match="raft/log is damaged"):
            store.data_of(2)


def test_a_full_disk_is_said():
    with LabMachines(seed=1) as world:
        node = world.node("A")
        store = opened(node, is_first_start=True)
        world.storages["A"].flush_error = "broken"
        with pytest.raises(DiskFault, match="broken"):
            world.run(store.write(RaftOutput(None, entries(1, 1))), node="A")
