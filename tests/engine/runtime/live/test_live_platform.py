"""A platform without threads and sockets: blocking work runs in line, and a loop of callbacks and timers is enough."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from engine.runtime.live import live_platform
from engine.runtime.live.blocking_calls import BlockingCalls
from engine.runtime.live.live_disk import LiveDisk
from engine.runtime.live.live_platform import new_event_loop


@pytest.fixture(autouse=True)
def webassembly(monkeypatch):
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(live_platform, "HAS_THREADS", False)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.delattr(os, "SEEK_DATA")


def test_results_and_errors_of_blocking_calls_pass_through():
    async def program() -> None:
        calls = BlockingCalls("test", 1)
        assert await calls.run(lambda: 6 * 7) == 42
        with pytest.raises(ZeroDivisionError):
            await calls.run(lambda: 1 // 0)
        calls.close()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(program())


def test_timers_run_in_their_order():
    async def program() -> list[str]:
        order: list[str] = []
        loop = asyncio.get_running_loop()
        loop.call_later(0.002, order.append, "second")
        loop.call_later(0.001, order.append, "first")
        await asyncio.sleep(0.003)
        return order

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert runner.run(program()) == ["first", "second"]


def test_a_wait_that_nothing_can_end_is_an_error():
    async def program() -> None:
        await asyncio.Event().wait()

    loop = new_event_loop()
    with pytest.raises(RuntimeError, match="cannot happen"):
        loop.run_until_complete(program())
    [task] = asyncio.all_tasks(loop)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()


def test_both_kinds_of_files_are_written_flushed_and_read(tmp_path):
    async def program() -> None:
        disk = LiveDisk("node", tmp_path)
        mapped, growing = disk.open_file("log/0", 8_192), disk.open_append("partition/0")
        mapped.write_at(4_000, b"across two pages" * 20)
        assert mapped.written_end() == 8_192
        await mapped.flush(0, 8_192)
        growing.append(b"record")
        await growing.flush()
        assert await disk.off_loop(lambda: disk.read_whole("partition/0")) == b"record"
        mapped.close()
        growing.close()
        assert disk.read_whole("log/0")[4_000:4_016] == b"across two pages"
        disk.close()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(program())
