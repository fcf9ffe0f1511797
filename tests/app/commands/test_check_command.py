"""``glassmq check``: what it says of a folder, and with which exit code."""

from __future__ import annotations

import asyncio

import pytest
from click.testing import CliRunner

from app.command_line import main
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
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Everything is whole.")


def test_a_damaged_folder_is_left_as_it_is(folder):
    path = folder / "commitlog" / f"{0:020d}"
    content = bytearray(path.read_bytes())
    content[90] ^= 1
    path.write_bytes(content)
    result = _check(folder)
    assert result.exit_code == 1
    assert "positions 0 to" in result.stdout
    assert "demo/0 offset 0 (position 0): its body does not have its CRC" in result.stdout
    assert path.read_bytes() == bytes(content)


def test_a_folder_in_use_is_refused(folder):
    lock = LiveRuntime("broker-a", folder).disk.lock_folder()
    result = _check(folder)
    lock.release()
    assert result.exit_code == 1
    assert "in use by another broker" in result.stderr
