"""The same store on the real disk, through the live runtime."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from engine.protocol.message.message_codec import decode_messages
from engine.runtime.live.live_runtime import LiveRuntime
from engine.store.files.store_config import FlushDiskType
from engine.store.message_store import MessageStore
from tests.engine.store.store_world import small_config, store_message

ROOT = Path(__file__).parents[3]

#: Puts messages forever, and prints the number of each one that is reported durable.
WRITER = """
import asyncio, sys
from pathlib import Path
from engine.runtime.live.live_runtime import LiveRuntime
from engine.store.message_store import MessageStore
from engine.store.files.store_config import FlushDiskType
from tests.engine.store.store_world import small_config, store_message

async def main(folder):
    store = MessageStore(LiveRuntime("writer", Path(folder)), small_config(flush_disk_type=FlushDiskType.SYNC_FLUSH))
    store.load()
    store.start()
    async def write(number):
        while True:
            body = b"%d" % number
            result = store.put_message(store_message(body, queue_id=number % 4, keys=str(number)))
            assert await store.flushed(result.end_offset)
            print(number, flush=True)
            number += 8
    await asyncio.gather(*[write(store.commit_log.max_offset * 8 + writer) for writer in range(8)])

asyncio.run(main(sys.argv[1]))
"""


def served(store):
    bodies = []
    for topic, queue_id, queue in store.consume_queues():
        offset = queue.min_offset
        while offset < queue.max_offset:
            result = store.get_message("G", topic, queue_id, offset, 32)
            bodies += [message.body for message in decode_messages(result.data)]
            assert result.next_begin_offset > offset
            offset = result.next_begin_offset
    return bodies


def test_a_read_that_crosses_files_does_not_keep_the_first_one_from_being_unmapped(tmp_path):
    async def run():
        config = small_config(max_mapped_files=2, mapped_file_size_consume_queue_entries=1_000)
        store = MessageStore(LiveRuntime("store", tmp_path), config)
        store.load()
        store.start()
        bodies = [b"%d" % number + b"x" * 10_000 for number in range(8)]
        for body in bodies:
            assert store.put_message(store_message(body)).end_offset
            await asyncio.sleep(0)
        first, second = store.commit_log.files.files
        [(_, _, queue)] = store.consume_queues()
        for file in (first, second, *queue.files.files):
            file.close()
        # What was written since it was mapped is shown and not copied; the queue was used more than once, so the first
        # file of the log is the one that has to go for the second.
        first.file.write_at(0, first.file.read_at(0, 60_000))
        assert len(queue.entries(0, 8)) == len(queue.entries(0, 8)) == 8
        result = store.get_message("G", "T", 0, 0, 100, None, 1_000_000)
        assert [message.body for message in decode_messages(result.data)] == bodies
        await store.shutdown()

    asyncio.run(run())


def test_put_restart_and_get(tmp_path):
    async def run():
        for expected in range(3):
            store = MessageStore(LiveRuntime("broker-a", tmp_path), small_config())
            report = store.load()
            assert report.lines == []
            store.start()
            assert len(served(store)) == expected * 50
            for number in range(50):
                assert store.put_message(store_message(b"%d" % number, queue_id=number % 3, keys=f"k{number}")).is_ok
            await asyncio.sleep(0)
            assert len(store.query_message("T", "k7", 32, 0, 1 << 62).buffers) == expected + 1
            await store.shutdown()

    asyncio.run(run())
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "commitlog", "config", "consumequeue", "index", "lock"]


def test_no_acknowledged_message_is_lost_when_the_process_is_killed_three_times(tmp_path):
    acknowledged: list[bytes] = []
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=False
        )
        assert writer.stdout is not None
        for _ in range(150):
            line = writer.stdout.readline()
            assert line, "the writer ended by itself"
            acknowledged.append(line.strip())
        writer.send_signal(signal.SIGKILL)
        acknowledged += [line.strip() for line in writer.stdout.read().splitlines()]
        writer.wait()
        writer.stdout.close()

    async def check():
        store = MessageStore(LiveRuntime("broker-a", tmp_path), small_config(flush_disk_type=FlushDiskType.SYNC_FLUSH))
        report = store.load()
        assert not report.was_clean
        assert report.entries_beyond_log == 0
        bodies = served(store)
        assert len(bodies) == len(set(bodies))
        assert set(acknowledged) <= set(bodies)
        for number in acknowledged[:: len(acknowledged) // 20]:
            assert store.query_message("T", number.decode(), 32, 0, 1 << 62).buffers
        await store.shutdown()

    asyncio.run(check())
