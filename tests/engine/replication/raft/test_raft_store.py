"""What a peer must not forget is on its disk; what a power cut tears is cut off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.replication.raft.raft_core import HardState, RaftOutput
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.replication.raft.raft_store import STATE_MAX_BYTES, RaftStore
from engine.runtime.lab.lab_runtime import LabMachines, LabRuntime
from engine.runtime.port import DiskFault


def entries(first: int, *terms: int) -> list[RaftEntry]:
    return [
        RaftEntry(first + number, term, EntryKind.DATA, b"%d of %d" % (number, term))
        for number, term in enumerate(terms)
    ]


def outputs(*outputs_: RaftOutput) -> Callable[[RaftStore], Awaitable[None]]:
    async def write(store: RaftStore) -> None:
        for output in outputs_:
            await store.write(output)

    return write


def kept(
    work: Callable[[RaftStore], Awaitable[None]], spoil: Callable[[LabMachines], None] | None = None
) -> tuple[HardState, Sequence[RaftEntry]]:
    """What is there after ``work`` and a power cut."""

    async def run(runtime: LabRuntime) -> None:
        await work(RaftStore(runtime.disk))

    with LabMachines(seed=1) as world:
        world.run(run(world.node("A")), node="A")
        world.crash("A", keep_page_cache=False)
        if spoil is not None:
            spoil(world)
        return RaftStore(world.restart("A").disk).saved


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


def test_the_file_of_votes_does_not_grow_for_ever():
    async def write(store: RaftStore) -> None:
        for term in range(STATE_MAX_BYTES // 10):
            await store.write(RaftOutput(HardState(term, "A" * 20)))
        assert store._states.file.size_bytes <= STATE_MAX_BYTES + 100

    assert kept(write)[0].term == STATE_MAX_BYTES // 10 - 1


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_of_a_damaged_log_a_beginning_is_left(data: st.DataObject):
    written = entries(1, 1, 1, 2, 2, 5)

    def spoil(world: LabMachines) -> None:
        content = world.storages["A"].files["raft/log"]
        place = data.draw(st.integers(0, content.size_bytes - 1))
        content.write(place, memoryview(bytes([content.read(place, 1)[0] ^ 0x40])))

    found = kept(outputs(RaftOutput(None, written)), spoil)[1]
    assert found == written[: len(found)]
    assert len(found) < len(written)


def test_a_log_that_has_lost_what_was_applied_is_refused_and_left_as_it_is():
    async def write(runtime: LabRuntime) -> None:
        await RaftStore(runtime.disk).write(RaftOutput(None, entries(1, 1, 1, 2)))

    with LabMachines(seed=1) as world:
        world.run(write(world.node("A")), node="A")
        world.crash("A", keep_page_cache=True)
        content = world.storages["A"].files["raft/log"]
        content.write(30, memoryview(b"?"))
        size = content.size_bytes
        with pytest.raises(DiskFault, match="0 records are whole, 3 were durable"):
            RaftStore(world.restart("A").disk, applied_index=3)
        assert content.size_bytes == size


def test_a_full_disk_is_said():
    with LabMachines(seed=1) as world:
        node = world.node("A")
        store = RaftStore(node.disk)
        world.storages["A"].flush_error = "broken"
        with pytest.raises(DiskFault, match="broken"):
            world.run(store.write(RaftOutput(None, entries(1, 1))), node="A")
