"""The same world does the same, whatever Python's hash seed is."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.engine_lock import EngineLock
from engine.runtime.lab.lab_runtime import LabMachines, LabRuntime
from engine.runtime.step import step
from tests.support.lab.runtime_handlers import CollectingHandler, EchoHandler, frame_of

PROJECT = Path(__file__).resolve().parents[3]


async def serve(runtime: LabRuntime) -> None:
    """An echo server with a periodic disk write."""
    await runtime.network.listen("", 9_000, EchoHandler)
    file = runtime.disk.open_file("log/0", 65_536)
    random = runtime.random_for("content")

    async def write() -> None:
        file.write_at(random.randrange(60_000), random.randbytes(100))
        await file.flush(0, 65_536)

    BackgroundTasks("server").every(7, write, "writes")


async def ask(runtime: LabRuntime, lock: EngineLock) -> None:
    """A client: several workers share one connection and one lock."""
    handler = CollectingHandler()
    connection = await runtime.network.connect("10.0.0.1:9000", handler, 1_000)

    async def worker(number: int) -> None:
        for _ in range(10):
            async with lock:
                await step("asks")
                connection.send_frame(frame_of(f"{runtime.node_name} {number} {runtime.clock.now_ms()}".encode()))
            await asyncio.sleep(runtime.random_for("pause").random() / 100)

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(worker(number))


def run_world(seed: int) -> LabMachines:
    world = LabMachines(seed, jitter_us=300)
    server = world.node("server")
    server.run(serve(server))
    for name in ("C1", "C2", "C3"):
        runtime = world.node(name)
        runtime.spawn(ask(runtime, EngineLock("connection")), "asks")
    world.run_for(60)
    world.crash("C2")
    world.run_for(200)
    return world


def test_one_seed_gives_one_journal_and_another_seed_another():
    with run_world(1) as first, run_world(1) as again, run_world(2) as other:
        assert first.journal.hash == again.journal.hash
        assert first.journal.entries == again.journal.entries
        assert first.loop.event_number > 500
        assert first.journal.hash != other.journal.hash


def test_the_journal_is_the_same_under_every_hash_seed_of_python():
    program = "from tests.engine.runtime.test_determinism import run_world; print(run_world(5).journal.hash)"
    hashes = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(PROJECT)},
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "31337")
    ]
    assert hashes[0] == hashes[1] == hashes[2]
    assert len(hashes[0].strip()) == 64


def test_the_hash_covers_the_bytes_of_frames():
    def hash_after(body: bytes) -> str:
        with LabMachines(1) as world:
            server, client = world.node("server"), world.node("client")
            server.run(server.network.listen("", 9_000, CollectingHandler))
            connection = client.run(client.network.connect("server:9000", CollectingHandler(), 1_000))
            connection.send_frame(frame_of(body))
            world.run_for(10)
            return world.journal.hash

    assert hash_after(b"same length 1") == hash_after(b"same length 1")
    assert hash_after(b"same length 1") != hash_after(b"same length 2")
