"""Every access to a file is reported, and nothing else changes."""

from __future__ import annotations

import asyncio

import pytest

from engine.runtime.traced_disk import AccessKind, DiskAccess, TracedDisk
from tests.support.lab.both_worlds import run_scenario


@pytest.fixture(params=["lab", "asyncio"])
def traced(request, tmp_path):
    """Run a scenario on a traced disk, and return what was reported."""

    def run(scenario):
        reported: list[DiskAccess] = []

        async def on_disk(server, client):
            await scenario(TracedDisk(server.disk, reported.append))

        run_scenario(request.param, tmp_path, on_disk)
        return reported

    return run


def test_a_mapped_file_tells_positions_and_lengths(traced):
    async def scenario(disk):
        file = disk.open_file("queue", 8_192)
        file.write_at(4_000, b"entry")
        assert file.read_at(4_000, 5) == file.view_at(4_000, 5) == b"entry"
        await file.flush(0, 8_192)
        file.flush_now()
        file.close()
        file.close()

    kinds = AccessKind
    assert traced(scenario) == [
        (kinds.OPEN, "queue", 0, 0),
        (kinds.WRITE, "queue", 4_000, 5),
        (kinds.READ, "queue", 4_000, 5),
        (kinds.READ, "queue", 4_000, 5),
        (kinds.FLUSH, "queue", 0, 8_192),
        (kinds.FLUSH, "queue", 0, 8_192),
        (kinds.CLOSE, "queue", 0, 0),
    ]


def test_a_growing_file_tells_what_was_really_read(traced):
    async def scenario(disk):
        file = disk.open_append("log")
        file.append(b"0123456789")
        assert file.read_at(8, 100) == b"89"
        file.truncate(4)
        await file.flush()
        file.close()
        disk.write_whole("checkpoint", b"0\n1\n")
        assert disk.read_whole("checkpoint") == b"0\n1\n"

    kinds = AccessKind
    assert traced(scenario) == [
        (kinds.OPEN, "log", 0, 0),
        (kinds.WRITE, "log", 0, 10),
        (kinds.READ, "log", 8, 2),
        (kinds.TRUNCATE, "log", 4, 6),
        (kinds.FLUSH, "log", 0, 4),
        (kinds.CLOSE, "log", 0, 0),
        (kinds.WRITE, "checkpoint", 0, 4),
        (kinds.READ, "checkpoint", 0, 4),
    ]


def test_everything_else_is_asked_of_the_disk_below(traced):
    async def scenario(disk):
        disk.write_whole("a/file", b"x")
        assert (disk.exists("a/file"), disk.list_folder("a"), disk.file_size_bytes("a/file")) == (True, ["file"], 1)
        disk.rename("a/file", "b")
        disk.remove("b")
        assert not disk.exists("b")
        assert await disk.off_loop(lambda: 7) == 7
        assert 0 <= disk.used_ratio() <= 1
        assert min(disk.room_bytes()) >= 0
        disk.lock_folder().release()
        await asyncio.sleep(0)

    assert [access.path for access in traced(scenario)] == ["a/file"]
