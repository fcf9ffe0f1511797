"""What the port promises about files, in the lab and on a real disk."""

from __future__ import annotations

import asyncio

import pytest

from engine.runtime.port import DiskFault, FolderLocked
from tests.support.lab.both_worlds import run_scenario


@pytest.fixture(params=["lab", "asyncio"])
def run(request, tmp_path):
    def run_on_disk(scenario):
        async def on_disk(server, client):
            await scenario(server.disk)

        run_scenario(request.param, tmp_path, on_disk)

    return run_on_disk


def test_a_new_file_is_zero_filled_and_keeps_what_is_written(run):
    async def scenario(disk):
        file = disk.open_file("commitlog/00000000000000000000", 1_000_000)
        assert (file.size_bytes, file.path) == (1_000_000, "commitlog/00000000000000000000")
        assert file.read_at(0, 10) == file.view_at(0, 10) == bytes(10)
        file.write_at(4_090, b"across a page")
        file.write_at(999_999, bytearray(b"z"))
        file.write_at(0, memoryview(b"start"))
        await file.flush(0, 1_000_000)
        file.close()
        again = disk.open_file("commitlog/00000000000000000000", 1_000_000)
        assert again.view_at(4_085, 20) == again.read_at(4_085, 20) == bytes(5) + b"across a page" + bytes(2)
        assert again.read_at(999_999, 1) == b"z"
        assert again.read_at(0, 6) == b"start\0"
        assert disk.file_size_bytes("commitlog/00000000000000000000") == 1_000_000
        again.flush_now()
        again.close()

    run(scenario)


def test_behind_the_end_of_what_was_written_there_are_only_zeros(run):
    async def scenario(disk):
        file = disk.open_file("queue", 1_000_000)
        assert file.written_end() <= 1_000_000
        for position in (0, 5_000, 300_000):
            file.write_at(position, b"x")
            assert file.written_end() > position
            assert not file.read_at(file.written_end(), 1_000_000 - file.written_end()).strip(b"\0")
        await file.flush(0, 1_000_000)
        assert file.written_end() > 300_000
        file.write_at(999_999, b"x")
        assert file.written_end() == 1_000_000
        file.close()
        again = disk.open_file("queue", 1_000_000)
        assert again.written_end() == 1_000_000
        again.close()

    run(scenario)


def test_a_shorter_file_is_extended_with_zeros(run):
    async def scenario(disk):
        disk.write_whole("index/1", b"short")
        file = disk.open_file("index/1", 10_000)
        assert file.read_at(0, 7) == b"short\0\0"
        assert disk.file_size_bytes("index/1") == 10_000
        file.close()

    run(scenario)


@pytest.mark.parametrize(("position", "length"), [(-1, 2), (95, 6), (100, 1), (0, 101)])
def test_access_outside_of_a_file_is_a_bug(run, position, length):
    async def scenario(disk):
        file = disk.open_file("a", 100)
        with pytest.raises(AssertionError, match="outside of a"):
            file.read_at(position, length)
        with pytest.raises(AssertionError, match="outside of a"):
            file.write_at(position, bytes(length))
        file.close()

    run(scenario)


def test_folders_are_listed_sorted_and_one_that_is_not_there_is_empty(run):
    async def scenario(disk):
        for path in ("consumequeue/T/10", "consumequeue/T/2", "consumequeue/A/0", "checkpoint"):
            disk.write_whole(path, b"x")
        assert disk.list_folder("consumequeue") == ["A", "T"]
        assert disk.list_folder("consumequeue/T") == ["10", "2"]
        assert disk.list_folder("") == ["checkpoint", "consumequeue"]
        assert disk.list_folder("nowhere") == []
        assert disk.exists("consumequeue/T")
        assert disk.exists("checkpoint")
        assert not disk.exists("consumequeue/B")

    run(scenario)


def test_removing_takes_a_file_or_a_folder_with_all_in_it(run):
    async def scenario(disk):
        for path in ("q/T/0", "q/T/1", "q/TT/0"):
            disk.write_whole(path, b"x")
        disk.remove("q/T/0")
        assert disk.list_folder("q/T") == ["1"]
        disk.remove("q/T")
        assert disk.list_folder("q") == ["TT"]
        disk.remove("q/T")
        disk.remove("never/was")
        assert disk.read_whole("q/TT/0") == b"x"

    run(scenario)


def test_a_folder_stays_when_its_last_file_is_removed(run):
    async def scenario(disk):
        disk.write_whole("q/T/0", b"x")
        disk.remove("q/T/0")
        assert disk.list_folder("q") == ["T"]
        assert disk.list_folder("q/T") == []

    run(scenario)


def test_write_whole_replaces_and_leaves_no_temporary_file(run):
    async def scenario(disk):
        disk.write_whole("config/topics.json", b"first, longer")
        disk.write_whole("config/topics.json", b"second")
        assert disk.read_whole("config/topics.json") == b"second"
        assert disk.list_folder("config") == ["topics.json"]
        disk.write_whole("config/empty", b"")
        assert disk.read_whole("config/empty") == b""

    run(scenario)


def test_rename_replaces_its_target(run):
    async def scenario(disk):
        disk.write_whole("config/new", b"new")
        disk.write_whole("old/target", b"old")
        disk.rename("config/new", "old/target")
        assert disk.read_whole("old/target") == b"new"
        assert not disk.exists("config/new")
        disk.rename("old/target", "fresh/folder/file")
        assert disk.read_whole("fresh/folder/file") == b"new"

    run(scenario)


@pytest.mark.parametrize("operation", ["read_whole", "file_size_bytes", "modified_ms"])
def test_a_file_that_is_not_there_is_named(run, operation):
    async def scenario(disk):
        with pytest.raises(DiskFault, match="config/missing"):
            getattr(disk, operation)("config/missing")
        with pytest.raises(DiskFault, match="config/missing"):
            disk.rename("config/missing", "other")

    run(scenario)


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret", "a/../../b", "a//b", ".", "a/", "x\0y"])
def test_no_path_leads_out_of_the_folder(run, path):
    async def scenario(disk):
        for operation in (
            lambda: disk.open_file(path, 10),
            lambda: disk.write_whole(path, b""),
            lambda: disk.read_whole(path),
            lambda: disk.remove(path),
            lambda: disk.list_folder(path),
            lambda: disk.rename("a", path),
        ):
            with pytest.raises(DiskFault):
                operation()

    run(scenario)


def test_a_file_in_the_place_of_a_folder_is_a_named_fault(run):
    async def scenario(disk):
        disk.write_whole("q/T", b"a file")
        with pytest.raises(DiskFault, match="q/T"):
            disk.open_file("q/T/0", 10)
        with pytest.raises(DiskFault, match="q/T"):
            disk.write_whole("q/T/0", b"")
        with pytest.raises(DiskFault, match="q"):
            disk.write_whole("q", b"")

    run(scenario)


def test_a_folder_has_one_owner_until_it_is_released(run):
    async def scenario(disk):
        lock = disk.lock_folder()
        with pytest.raises(FolderLocked, match="in use"):
            disk.lock_folder()
        lock.release()
        lock.release()
        disk.lock_folder().release()

    run(scenario)


def test_a_write_changes_when_a_file_was_modified_and_how_full_the_disk_is_stays_a_share(run):
    async def scenario(disk):
        file = disk.open_file("a", 10_000)
        before_ms = disk.modified_ms("a")
        assert before_ms > 1_700_000_000_000
        file.write_at(0, b"x")
        await file.flush(0, 1)
        assert disk.modified_ms("a") >= before_ms
        assert 0.0 <= disk.used_ratio() <= 1.0
        size_bytes, usable_bytes = disk.room_bytes()
        assert 0 <= usable_bytes <= size_bytes
        file.close()

    run(scenario)


def test_work_off_the_loop_gives_its_result_or_its_error_and_others_run_meanwhile(run):
    async def scenario(disk):
        ran = []

        async def other() -> None:
            ran.append("other")

        def write() -> int:
            disk.write_whole("a", b"x")
            ran.append("write")
            return 7

        def fail() -> None:
            raise DiskFault("broken")

        running = asyncio.ensure_future(disk.off_loop(write))
        await other()
        assert ran[0] == "other"
        assert await running == 7
        assert disk.read_whole("a") == b"x"
        with pytest.raises(DiskFault, match="broken"):
            await disk.off_loop(fail)

    run(scenario)


def test_a_file_that_grows_is_read_by_position_and_can_be_cut(run):
    async def scenario(disk):
        file = disk.open_append("Orders-0/00000000000000000000.log")
        assert (file.size_bytes, file.read_at(0, 10)) == (0, b"")
        assert [file.append(b"first"), file.append(bytearray(5_000)), file.append(memoryview(b"last"))] == [0, 5, 5_005]
        assert file.size_bytes == 5_009
        assert file.read_at(5_003, 100) == b"\0\0last"
        await file.flush()
        file.truncate(4_098)
        assert (file.size_bytes, file.read_at(4_096, 100)) == (4_098, b"\0\0")
        assert file.append(b"new") == 4_098
        file.flush_now()
        file.close()
        again = disk.open_append("Orders-0/00000000000000000000.log")
        assert (again.size_bytes, again.read_at(0, 5), again.read_at(4_096, 9)) == (4_101, b"first", b"\0\0new")
        assert disk.file_size_bytes("Orders-0/00000000000000000000.log") == 4_101
        again.truncate(0)
        assert (again.size_bytes, again.read_at(0, 9), again.append(b"x")) == (0, b"", 0)
        again.close()

    run(scenario)


def test_what_was_cut_off_reads_as_zeros_when_the_file_grows_again(run):
    async def scenario(disk):
        file = disk.open_append("log")
        file.append(b"x" * 100)
        file.truncate(10)
        file.append(bytes(50))
        assert file.read_at(0, 100) == b"x" * 10 + bytes(50)
        file.close()

    run(scenario)
