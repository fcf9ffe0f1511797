"""A broker's data folder with a random damage, and what it must still serve: for the sweep over damages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from engine.broker.broker import Broker
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.store_config import MessageStoreConfig
from tests.engine.broker.lab_broker import BrokerLab
from tests.engine.store.store_world import small_config, store_message

NODE = "broker-a"
QUEUES = (("T", 0), ("T", 1), ("T", 2), ("U", 0))
KINDS = (
    "commitlog",
    "consumequeue",
    "consumequeue_ext",
    "index",
    "config",
    "checkpoint",
    "recoveryPoint",
    "abort",
    "lock",
)
POINTS = ("config/recoveryPoint.json", "config/recoveryPoint.json.bak")

Place = tuple[str, int, int]


class Stored(NamedTuple):
    """One message of the folder: its body, and the position of its record in the commit log."""

    body: bytes
    start: int
    end: int


@dataclass(slots=True)
class DataFolder:
    """The files of a broker that has ended, and the messages in them by (topic, queue id, logical offset)."""

    files: dict[str, bytes]
    messages: dict[Place, Stored]


def store_config() -> MessageStoreConfig:
    """Small files of every kind."""
    return small_config(
        mapped_file_size_commit_log=16 * 1024,
        mapped_file_size_consume_queue_entries=50,
        enable_consume_queue_ext=True,
        mapped_file_size_consume_queue_ext=4_096,
    )


@lru_cache(maxsize=2)
def data_folder(is_clean: bool) -> DataFolder:
    """400 messages in four queues, groups and their offsets, a recovery point after half of it."""
    lab = BrokerLab(store_config=store_config(), name_server=False)
    try:
        client = lab.client()
        client.create_topic("T", 3)
        client.create_topic("U", 1)
        client.heartbeat()
        store, rng = lab.broker.store, random.Random(7)
        for number in range(400):
            topic, queue_id = QUEUES[rng.choice((0, 0, 1, 2, 3))]
            body = (b"message %d " % number).ljust(rng.randrange(20, 300), b"x")
            tags = "ab"[number % 2]
            result = store.put_message(store_message(body, topic, queue_id, tags, f"k{number}", f"U{number}"))
            assert result.is_ok
            if number % 40 == 0:
                lab.run_for(10)
            if number == 200:
                client.exchange(client.pull_request(commit_offset=20, offset=20))
                lab.run_for(21_000)
        lab.run_for(500)
        messages = {
            (topic, queue_id, offset): Stored(store.message_at(start).body, start, start + size)
            for topic, queue_id in QUEUES
            for offset, (start, size, _) in enumerate(store.consume_queue_entries(topic, queue_id, 0, 1_000))
        }
        assert len(messages) == 400
        if is_clean:
            lab.world.run(lab.broker.shutdown(), node=NODE)
        else:
            lab.world.crash(NODE)
        storage = lab.world.storages[NODE]
        return DataFolder(
            {path: content.read(0, content.size_bytes) for path, content in storage.files.items()}, messages
        )
    finally:
        lab.world.close()


@dataclass(slots=True)
class Damage:
    """What was done to which files."""

    files: dict[str, bytes]
    what: list[str] = field(default_factory=list)

    def apply(self, rng: random.Random) -> None:
        kind = rng.choice(KINDS)
        paths = [path for path in sorted(self.files) if _kind_of(path) == kind]
        if not paths:  # abort after a clean exit; the lock is no file in the lab
            self.files[kind] = rng.randbytes(rng.randrange(20))
            self.what.append(f"made {kind}")
            return
        path = rng.choice(paths)
        data = self.files[path]
        used = max(1, len(data.rstrip(b"\0")))
        at = rng.randrange(used)
        match rng.choice(("flip", "zero", "truncate", "delete", "swap")):
            case "flip":
                changed = bytearray(data or b"\0")
                changed[at] ^= 1 << rng.randrange(8)
                self.files[path] = bytes(changed)
                self.what.append(f"flipped a bit of byte {at} of {path}")
            case "zero":
                length = min(len(data) - at, rng.choice((1, 8, 20, 512, 4_096)))
                self.files[path] = data[:at] + bytes(length) + data[at + length :]
                self.what.append(f"zeros over bytes {at} to {at + length} of {path}")
            case "truncate":
                self.files[path] = data[:at]
                self.what.append(f"cut {path} at {at}")
            case "delete":
                del self.files[path]
                self.what.append(f"deleted {path}")
            case "swap":
                others = paths if rng.random() < 0.8 else sorted(self.files)
                other = rng.choice(others)
                self.files[path], self.files[other] = self.files[other], data
                self.what.append(f"swapped {path} and {other}")


def _kind_of(path: str) -> str:
    if "recoveryPoint" in path:
        return "recoveryPoint"
    return path.partition("/")[0]


def damaged(folder: DataFolder, rng: random.Random) -> Damage:
    """One damage, at times with the loss of both recovery points."""
    damage = Damage(dict(folder.files))
    damage.apply(rng)
    if rng.random() < 0.2:
        for path in POINTS:
            damage.files.pop(path, None)
        damage.what.append("deleted both recovery points")
    return damage


def untouched(folder: DataFolder, files: dict[str, bytes]) -> list[Place]:
    """The messages not one byte of which was changed."""
    log = {int(path.split("/")[1]): data for path, data in folder.files.items() if path.startswith("commitlog/")}
    whole = []
    for place, (_, start, end) in folder.messages.items():
        first = max(offset for offset in log if offset <= start)
        path = f"commitlog/{first:020d}"
        if files.get(path, b"")[start - first : end - first] == folder.files[path][start - first : end - first]:
            whole.append(place)
    return whole


@contextmanager
def broker_on(files: dict[str, bytes]) -> Iterator[tuple[LabMachines, Broker]]:
    """A broker started on these files, a minute after they were made."""
    with LabMachines(seed=1) as world:
        runtime = world.node(NODE)
        world.run_for(60_000)
        for path, data in files.items():
            runtime.disk.write_whole(path, data)
        yield world, start_broker(world)


def start_broker(world: LabMachines) -> Broker:
    """A broker of the process that runs on the node now."""

    async def start() -> Broker:
        broker = Broker(world.node(NODE), store_config=store_config())
        await broker.start()
        return broker

    return world.run(start(), node=NODE)
