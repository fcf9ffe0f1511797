"""``glassmq check``: what it says of a folder, and with which exit code."""

from __future__ import annotations

import asyncio

import pytest
from click.testing import CliRunner

from app.command_line import main
from engine.replication.majority.applied_mark import AppliedMark, save_mark
from engine.replication.raft.hard_state import HardState
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.replication.raft.raft_output import RaftOutput
from engine.replication.raft.raft_store import RaftStore
from engine.runtime.live.live_runtime import LiveRuntime
from engine.store.message_store import MessageStore
from tests.engine.store.store_world import store_message


@pytest.fixture
def folder(tmp_path):
    """A broker's folder with 20 messages."""

    async def fill() -> None:
        runtime = LiveRuntime("broker-a", tmp_path)
        store = MessageStore(runtime)
        store.load()
        store.start()
        for number in range(20):
            store.put_message(store_message(b"message %d" % number, "demo"))
        await store.shutdown()
        await runtime.close()

    asyncio.run(fill())
    return tmp_path


def _check(folder):
    return CliRunner().invoke(main, ["check", "--quiet", "--data", str(folder)], prog_name="glassmq")


def test_a_whole_folder(folder):
    result = _check(folder)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Everything is intact.")


def test_a_damaged_folder_is_left_as_it_is(folder):
    path = folder / "commitlog" / f"{0:020d}"
    content = bytearray(path.read_bytes())
    content[90] ^= 1
    path.write_bytes(content)
    result = _check(folder)
    assert result.exit_code == 1
    assert "positions 0 to" in result.stdout
    assert "demo/0 offset 0 (position 0): its body does not match its CRC" in result.stdout
    assert path.read_bytes() == bytes(content)


def test_a_folder_in_use_is_refused(folder):
    lock = LiveRuntime("broker-a", folder).disk.lock_folder()
    result = _check(folder)
    lock.release()
    assert result.exit_code == 1
    assert "in use by another broker" in result.stderr


@pytest.fixture
def member_folder(folder):
    """The same of a group's member, with three entries."""

    async def fill() -> None:
        runtime = LiveRuntime("n0", folder)
        store = RaftStore(runtime.disk, draw_number=lambda: 1, is_first_start=True)
        entries = [RaftEntry(index, 4, EntryKind.DATA, b"entry %d" % index) for index in (1, 2, 3)]
        await store.write(RaftOutput(HardState(4, "n1"), entries))
        store.close()
        save_mark(runtime.disk, AppliedMark(2))
        await runtime.close()

    asyncio.run(fill())
    return folder


def test_of_a_member_it_says_that_it_votes(member_folder):
    before = {path: path.read_bytes() for path in member_folder.glob("raft/*")}
    result = _check(member_folder)
    assert result.exit_code == 0
    assert "member of a group: votes; term 4, voted for n1; entries in raft/log: 3" in result.stdout
    assert {path: path.read_bytes() for path in member_folder.glob("raft/*")} == before


@pytest.mark.parametrize(
    ("file", "place", "said"),
    [
        ("log", 60, "will join when it is started, and not vote until it is admitted: raft/log lacks entries"),
        ("log", None, "will join when it is started, and not vote until it is admitted: raft/log lacks entries"),
        ("state", None, "will join when it is started, and not vote until it is admitted: raft/state was missing"),
        ("applied", 3, "raft/applied is damaged; the commit log will be rebuilt"),
    ],
)
def test_of_a_member_that_lost_something_it_says_what_will_become_of_it(member_folder, file, place, said):
    path = member_folder / "raft" / file
    content = bytearray(path.read_bytes())
    if place is None:
        path.unlink()
    else:
        content[place] ^= 1
        path.write_bytes(content)
    result = _check(member_folder)
    assert result.exit_code == 1
    assert said in result.stdout


def test_a_joining_member_is_whole_and_says_why_it_joins(tmp_path):
    async def fill() -> None:
        runtime = LiveRuntime("n0", tmp_path)
        RaftStore(runtime.disk, draw_number=lambda: 1).close()
        await runtime.close()

    asyncio.run(fill())
    result = _check(tmp_path)
    assert result.exit_code == 0
    assert "joins, and does not vote until it is admitted: its folder was empty" in result.stdout
