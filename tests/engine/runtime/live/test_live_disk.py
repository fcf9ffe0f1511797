"""What only a real disk shows: holes, flushes in a thread, full disks, locks between processes, killed writers."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from engine.runtime.live import live_disk
from engine.runtime.live.live_disk import LiveDisk
from engine.runtime.port import DiskFault, DiskFull, FolderLocked

PROJECT = Path(__file__).resolve().parents[4]


@pytest.fixture
def disk(tmp_path):
    opened = LiveDisk("broker", tmp_path / "data")
    yield opened
    opened.close()


def run_python(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
    )


def test_a_large_file_takes_room_only_for_what_is_written(disk, tmp_path):
    file = disk.open_file("commitlog/0", 1 << 30)
    file.write_at(500_000_000, b"message")
    status = os.stat(tmp_path / "data/commitlog/0")
    assert status.st_size == 1 << 30
    assert status.st_blocks * 512 <= 4 * 1024 * 1024
    file.close()


def test_what_a_killed_process_wrote_is_there(tmp_path):
    program = """
import os, pathlib, signal, sys
from engine.runtime.live.live_disk import LiveDisk
file = LiveDisk("broker", pathlib.Path(sys.argv[1])).open_file("log", 1 << 20)
file.write_at(1_000, b"acknowledged")
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert run_python(program, str(tmp_path)).returncode == -signal.SIGKILL
    assert (tmp_path / "log").read_bytes()[1_000:1_012] == b"acknowledged"


def test_the_loop_goes_on_while_the_disk_works_and_callers_share_flushes(disk, monkeypatch):
    release, calls = threading.Semaphore(0), []
    real_sync = os.fdatasync

    def slow_sync(descriptor):
        calls.append(descriptor)
        assert release.acquire(timeout=30)
        real_sync(descriptor)

    monkeypatch.setattr(os, "fdatasync", slow_sync)

    async def scenario():
        file = disk.open_file("log", 10_000)
        file.write_at(0, b"first")
        first = asyncio.create_task(file.flush(0, 5))
        while not calls:
            await asyncio.sleep(0.001)
        file.write_at(5, b"second")
        others = [asyncio.create_task(file.flush(5, 11)) for _ in range(10)]
        for _ in range(20):
            await asyncio.sleep(0)
        assert not first.done()
        release.release()
        await first
        assert not any(task.done() for task in others), "what was written during a flush needs the next one"
        release.release()
        await asyncio.gather(*others)
        assert len(calls) == 2
        await file.flush(0, 10_000)
        assert len(calls) == 2, "nothing was written since"
        file.close()

    asyncio.run(scenario())


def test_a_caller_that_gives_up_does_not_take_the_flush_from_others(disk):
    async def scenario():
        file = disk.open_file("log", 10_000)
        file.write_at(0, b"x")
        impatient = asyncio.create_task(file.flush(0, 1))
        patient = asyncio.create_task(file.flush(0, 1))
        await asyncio.sleep(0)
        impatient.cancel()
        await patient
        with pytest.raises(asyncio.CancelledError):
            await impatient
        file.close()

    asyncio.run(scenario())


def test_after_a_failed_flush_no_later_one_pretends_to_have_worked(disk, monkeypatch):
    async def scenario():
        file = disk.open_file("log", 10_000)
        file.write_at(0, b"x")

        def fail(descriptor):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", fail)
            results = await asyncio.gather(file.flush(0, 1), file.flush(0, 1), return_exceptions=True)
        assert [str(result) for result in results] == [str(results[0])] * 2
        assert isinstance(results[0], DiskFault)
        with pytest.raises(DiskFault, match=r"log: Input/output error; its last writes may be lost"):
            await file.flush(0, 1)
        with pytest.raises(DiskFault, match=r"log: Input/output error; its last writes may be lost"):
            file.flush_now()
        file.close()

    asyncio.run(scenario())


def test_a_full_disk_is_an_error_before_the_write_and_not_a_signal(disk, monkeypatch):
    file = disk.open_file("log", 3 << 20)
    file.write_at(0, b"fits")

    def full(descriptor, start, length):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    file.write_at(100, b"room was reserved for this already")
    with pytest.raises(DiskFull, match=r"data/log: No space left"):
        file.write_at((1 << 20) - 2, b"over the edge")
    assert file.read_at((1 << 20) - 2, 2) == b"\0\0"
    file.close()


def test_every_page_that_a_write_touches_is_reserved_once_and_as_much_ahead_as_lies_before(disk, monkeypatch):
    page, reserved = 4_096, []
    monkeypatch.setattr(os, "posix_fallocate", lambda _, start, length: reserved.append((start // page, length)))
    file = disk.open_file("log", (8 << 20) + 100)
    file.write_at(page - 1, bytes(2))
    file.write_at(2 * page, b"one page ahead")
    file.write_at(3 * page, b"that was room for this")
    file.write_at(4 << 20, bytes(10))
    file.write_at((5 << 20) - 1, b"a mebibyte ahead")
    file.write_at((8 << 20) + 50, b"tail")
    file.write_at(10, b"")
    assert reserved == [(0, 2 * page), (2, 3 * page), (1_024, page + (1 << 20)), (2_048, 100)]
    file.close()


def test_a_file_with_one_entry_costs_a_page_and_a_log_costs_little_more_than_is_in_it(disk):
    small, log = disk.open_file("small", 400_000), disk.open_file("log", 16 << 20)
    small.write_at(0, bytes(range(1, 21)))
    for start in range(0, 3 << 20, 1_000):
        log.write_at(start, b"x" * 1_000)
    used = {name: 512 * os.stat(disk._full(name)).st_blocks for name in ("small", "log")}
    assert used["small"] <= 16_384
    assert used["log"] <= (3 << 20) + (1 << 20) + 65_536
    small.close()
    log.close()


def test_a_file_system_that_knows_no_holes_calls_the_whole_file_written(disk, monkeypatch):
    file = disk.open_file("log", 100_000)

    def no_holes(*_):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "lseek", no_holes)
    assert file.written_end() == 100_000
    file.close()


def test_a_write_to_a_really_full_disk_does_not_kill_the_process(tmp_path):
    # A file may not grow beyond the process's own limit: the nearest thing to a full disk without a mount.
    program = """
import pathlib, resource, signal, sys
from engine.runtime.live.live_disk import LiveDisk
from engine.runtime.port import DiskFull
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    LiveDisk("broker", pathlib.Path(sys.argv[1])).open_file("log", 1 << 30)
except DiskFull as failure:
    print(failure)
"""
    result = run_python(program, str(tmp_path))
    assert "cannot map" in result.stdout
    assert f"{tmp_path}/log" in result.stdout


def test_a_second_process_is_reported_who_has_the_folder(tmp_path, disk):
    program = """
import pathlib, sys
from engine.runtime.live.live_disk import LiveDisk
from engine.runtime.port import FolderLocked
try:
    LiveDisk("broker", pathlib.Path(sys.argv[1])).lock_folder()
except FolderLocked as failure:
    print(failure)
"""
    lock = disk.lock_folder()
    assert (tmp_path / "data/lock").read_text() == f"{os.getpid()}\n"
    result = run_python(program, str(tmp_path / "data"))
    assert f"data folder {tmp_path / 'data'} is in use by another broker (process {os.getpid()})" in result.stdout
    lock.release()
    assert run_python(program, str(tmp_path / "data")).stdout == ""


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    program = """
import os, pathlib, signal, sys
from engine.runtime.live.live_disk import LiveDisk
lock = LiveDisk("broker", pathlib.Path(sys.argv[1])).lock_folder()
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert run_python(program, str(tmp_path)).returncode == -signal.SIGKILL
    LiveDisk("broker", tmp_path).lock_folder().release()


def test_a_folder_that_cannot_be_made_or_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DiskFault, match=f"{tmp_path}/file/data"):
        LiveDisk("broker", tmp_path / "file" / "data")
    with pytest.raises(DiskFault, match=f"{tmp_path}/file"):
        LiveDisk("broker", tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(tmp_path):
    (tmp_path / "data").mkdir(mode=0o500)
    with pytest.raises(DiskFault, match="not writable"):
        LiveDisk("broker", tmp_path / "data")


def test_a_crash_while_a_file_is_written_whole_leaves_the_old_content(disk, monkeypatch):
    disk.write_whole("config/topics.json", b"old")

    def crash(source, target):
        raise OSError(errno.EIO, "power cut")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crash)
        with pytest.raises(DiskFault, match=r"config/topics\.json: power cut"):
            disk.write_whole("config/topics.json", b"new")
    assert disk.read_whole("config/topics.json") == b"old"


def test_a_lock_file_is_not_taken_twice_in_one_process(disk):
    lock = disk.lock_folder()
    with pytest.raises(FolderLocked, match=str(os.getpid())):
        disk.lock_folder()
    lock.release()


def test_a_file_can_be_closed_while_it_is_flushed(disk, monkeypatch):
    release = threading.Event()
    synced = []
    real_sync = os.fdatasync

    def slow_sync(descriptor):
        assert release.wait(30)
        real_sync(descriptor)
        synced.append(descriptor)

    monkeypatch.setattr(os, "fdatasync", slow_sync)

    async def scenario():
        file = disk.open_file("log", 10_000)
        file.write_at(0, b"x")
        flush = asyncio.create_task(file.flush(0, 1))
        await asyncio.sleep(0.01)
        file.close()
        file.close()
        release.set()
        await flush
        assert len(synced) == 1

    asyncio.run(scenario())


def test_what_was_written_earlier_and_now_reads_the_same_across_reserved_and_unreserved_room(disk):
    earlier = disk.open_file("log", 8 << 20)
    earlier.write_at((3 << 20) - 5, b"earlier...")
    earlier.close()
    file = disk.open_file("log", 8 << 20)
    file.write_at(1 << 20, b"now")
    assert file.read_at((3 << 20) - 5, 10) == b"earlier..."
    assert file.read_at((1 << 20) - 2, 7) == b"\0\0now\0\0"
    assert file.read_at(0, 8 << 20).replace(b"\0", b"") == b"nowearlier..."
    assert file.read_at(8 << 20, 0) == b""
    assert file.view_at((3 << 20) - 5, 10) == b"earlier..."
    assert file.view_at((1 << 20) - 2, 7) == b"\0\0now\0\0"
    file.close()


def test_a_view_shows_the_file_itself_and_ends_before_the_file_is_closed(disk):
    file = disk.open_file("log", 4 << 20)
    file.write_at(0, bytes(4 << 20))
    view = file.view_at(10, 3 << 20)
    file.write_at(12, b"later")
    assert view[:8] == b"\0\0later\0"
    with pytest.raises(BufferError):
        file.close()
    view.release()
    file.close()


def test_a_file_that_was_cut_from_outside_is_a_fault_and_not_the_end_of_the_process(disk, tmp_path):
    file = disk.open_file("log", 1 << 20)
    os.truncate(tmp_path / "data/log", 5_000)
    assert file.read_at(0, 5_000) == bytes(5_000)
    with pytest.raises(DiskFault, match=r"cannot read .*data/log: it ends at 5000, not 1048576"):
        file.read_at(4_000, 100_000)
    file.close()


def test_the_run_of_the_machine_has_one_name_for_every_process_on_it(disk):
    program = "from engine.runtime.live.live_disk import LiveDisk; print(LiveDisk('n', None).boot_id)"
    assert disk.boot_id
    assert run_python(program).stdout.strip() == disk.boot_id


def test_a_machine_that_does_not_tell_its_run_has_no_name_for_it(disk, monkeypatch, tmp_path):
    monkeypatch.setattr(live_disk, "_BOOT_ID_PATH", tmp_path / "missing")
    assert disk.boot_id == ""


def test_a_sector_that_cannot_be_read_is_a_fault_that_names_the_file(disk, monkeypatch):
    file = disk.open_file("log", 1 << 20)

    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", fail)
        with pytest.raises(DiskFault, match=r"cannot read .*data/log: Input/output error"):
            file.read_at(0, 10)
    file.close()


def test_a_file_that_is_replaced_stays_as_secret_as_it_was(disk, tmp_path):
    disk.write_whole("config/plain_acl.yml", b"accounts: []")
    path = tmp_path / "data" / "config" / "plain_acl.yml"
    path.chmod(0o600)
    disk.write_whole("config/plain_acl.yml", b"accounts: [{}]")
    assert path.stat().st_mode & 0o777 == 0o600 and path.read_bytes() == b"accounts: [{}]"


def test_who_is_cancelled_while_it_writes_off_the_loop_waits_for_the_end(tmp_path):
    disk = LiveDisk("node", tmp_path)
    goes_on = threading.Event()
    done = []

    def slow() -> None:
        goes_on.wait(10)
        done.append("first")

    async def scenario() -> None:
        first = asyncio.ensure_future(disk.off_loop(slow))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        assert not first.done()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert done == ["first"]

    asyncio.run(scenario())
    disk.close()


def test_a_disk_that_is_slow_on_purpose_does_not_stop_whoever_stands_still_for_a_flush(disk, monkeypatch):
    def never(seconds):
        raise AssertionError("the node's loop would stand still, and nobody could mend the disk")

    monkeypatch.setattr("engine.runtime.live.live_flushed_file.time.sleep", never)
    disk.condition.flush_ms = 30_000
    file = disk.open_file("log", 10_000)
    file.write_at(0, b"x")
    file.flush_now()
    disk.condition.flushes_fail = True
    file.write_at(1, b"y")
    with pytest.raises(DiskFault):
        file.flush_now()


def test_a_disk_that_need_not_be_durable_waits_for_no_device(tmp_path, monkeypatch):
    def refuse(descriptor):
        raise AssertionError("waited for the device")

    monkeypatch.setattr(os, "fdatasync", refuse)
    monkeypatch.setattr(os, "fsync", refuse)
    disk = LiveDisk("node", tmp_path)
    disk.condition.is_durable = False
    file = disk.open_file("folder/log", 4096)
    file.write_at(0, b"data")
    file.flush_now()
    disk.write_whole("table", b"{}")
    disk.rename("table", "other")
    assert (tmp_path / "folder" / "log").read_bytes()[:4] == b"data"
    disk.condition.flushes_fail = True
    file.write_at(0, b"more")
    with pytest.raises(DiskFault):
        file.flush_now()
    file.close()
    disk.close()


@pytest.mark.parametrize("kind", ["a pipe", "a device without end", "a device that is always empty"])
def test_what_is_not_a_file_is_refused_by_name_and_not_read_without_end(kind, disk, tmp_path):
    place = tmp_path / "data/checkpoint"
    if kind == "a pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero" if kind == "a device without end" else "/dev/null")
    for use in (disk.read_whole, lambda path: disk.open_file(path, 4_096), disk.open_append):
        with pytest.raises(DiskFault, match="checkpoint: it is not a regular file"):
            use("checkpoint")
    disk.remove("checkpoint")
    disk.write_whole("checkpoint", b"whole")
    assert disk.read_whole("checkpoint") == b"whole"


def test_a_table_of_a_damaged_size_is_refused_before_it_is_read(disk, tmp_path):
    disk.write_whole("topics.json", b"{}")
    os.truncate(tmp_path / "data/topics.json", 10 << 30)
    with pytest.raises(DiskFault, match=r"topics\.json: it has 10737418240 bytes"):
        disk.read_whole("topics.json")


def test_a_folder_that_was_taken_away_is_a_fault_by_name(disk, tmp_path):
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    for ask in (disk.used_ratio, disk.room_bytes):
        with pytest.raises(DiskFault, match=f"cannot look at the room of {tmp_path / 'data'}: No such file"):
            ask()
