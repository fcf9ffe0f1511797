"""A store in a lab world that tests can fill, crash, damage and start again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.message.message_properties import encode_properties
from engine.runtime.lab.lab_disk import LabDisk
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.lab.lab_storage import LabStorage
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.put_message_result import PutMessageResult
from engine.store.log.store_batch import BatchMember, StoreBatch
from engine.store.log.store_message import StoreMessage
from engine.store.message_store import MessageStore
from engine.store.recovery.recovery_report import RecoveryReport

NODE = "broker-a"

#: Worlds that the running test has made; conftest.py closes them.
open_worlds: list[LabMachines] = []
BORN_HOST = "127.0.0.1:50000"
STORE_HOST = "127.0.0.1:10911"


def small_config(**settings) -> MessageStoreConfig:
    """Small files, so that few messages show what many would."""
    sizes = {
        "mapped_file_size_commit_log": 64 * 1024,
        "mapped_file_size_consume_queue_entries": 100,
        "max_hash_slot_num": 50,
        "max_index_num": 200,
    }
    return MessageStoreConfig(**{**sizes, **settings})


def store_message(
    body: bytes = b"hello",
    topic: str = "T",
    queue_id: int = 0,
    tags: str = "",
    keys: str = "",
    unique_key: str = "",
    **fields,
) -> StoreMessage:
    """A message as the broker would make it."""
    properties = {name: value for name, value in (("TAGS", tags), ("KEYS", keys), ("UNIQ_KEY", unique_key)) if value}
    values = {
        "properties_string": encode_properties(properties),
        "born_timestamp": 1_700_000_000_000,
        "born_host": BORN_HOST,
        "store_host": STORE_HOST,
        "tags_code": java_string_hash(tags) if tags else 0,
        "keys": keys,
        "unique_key": unique_key,
    }
    return StoreMessage(topic=topic, queue_id=queue_id, body=body, **{**values, **fields})


def store_batch(messages: Sequence[StoreMessage]) -> StoreBatch:
    """The batch that the broker would make of ``messages``, all for the queue of the first one."""
    first = messages[0]
    members: list[BatchMember] = []
    for message in messages:
        text = message.properties_string
        properties = text.encode() if isinstance(text, str) else text
        members.append((message.flag, message.body, properties, message.tags_code, message.keys, message.unique_key))
    return StoreBatch(
        first.topic, first.queue_id, members, first.born_timestamp, first.born_host, first.store_host, first.sys_flag
    )


class StoreWorld:
    """One lab node with a store."""

    def __init__(self, config: MessageStoreConfig | None = None, seed: int = 1) -> None:
        self.config = config or small_config()
        self.world = LabMachines(seed=seed)
        open_worlds.append(self.world)
        self.runtime = self.world.node(NODE)
        self.store = MessageStore(self.runtime, self.config)
        self.report = RecoveryReport()

    @property
    def disk(self) -> LabDisk:
        return self.runtime.disk

    @property
    def storage(self) -> LabStorage:
        return self.world.storages[NODE]

    def do(self, action: Callable[[], object]):
        """Call ``action`` on the node, then let what it caused within this moment happen."""

        async def act():
            result = action()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return result

        return self.world.run(act(), node=NODE)

    def run(self, coroutine):
        return self.world.run(coroutine, node=NODE)

    # --- life

    def start(self) -> RecoveryReport:
        def start():
            self.report = self.store.load()
            self.store.start()

        self.do(start)
        return self.report

    def shutdown(self) -> None:
        self.run(self.store.shutdown())

    def kill(self) -> None:
        """As kill -9: what was written stays in the operating system's cache."""
        self.world.crash(NODE)

    def cut_power(self, torn: bool = False) -> None:
        """Only what was flushed stays (and, torn, by chance some sectors of the rest)."""
        self.world.crash(NODE, keep_page_cache=False, torn=torn)

    def start_again(self) -> RecoveryReport:
        """A new process on the same disk."""
        self.runtime = self.world.restart(NODE)
        self.store = MessageStore(self.runtime, self.config)
        return self.start()

    # --- messages

    def put(self, body: bytes = b"hello", topic: str = "T", queue_id: int = 0, **fields) -> PutMessageResult:
        return self.do(lambda: self.store.put_message(store_message(body, topic, queue_id, **fields)))

    def put_batch(self, bodies: list[bytes], topic: str = "T", queue_id: int = 0) -> PutMessageResult:
        batch = store_batch([store_message(body, topic, queue_id) for body in bodies])
        return self.do(lambda: self.store.put_batch(batch))

    def flush(self) -> bool:
        """Wait until the log is durable as far as it is written."""

        async def flush():
            return await self.store.flushed(self.store.commit_log.max_offset)

        return self.run(flush())

    def messages(self, topic: str = "T", queue_id: int = 0, offset: int | None = None) -> list[MessageExt]:
        """Everything that a consumer gets who reads the queue from its beginning."""
        offset = self.store.min_offset(topic, queue_id) if offset is None else offset
        found: list[MessageExt] = []
        while True:
            result = self.store.get_message("G", topic, queue_id, offset, 32)
            if result.next_begin_offset == offset:
                return found
            found += decode_messages(result.data, decompress=False)
            assert result.next_begin_offset > offset
            offset = result.next_begin_offset

    def bodies(self, topic: str = "T", queue_id: int = 0) -> list[bytes]:
        return [message.body for message in self.messages(topic, queue_id)]

    # --- damage, while the store is down

    def path_of_queue(self, topic: str = "T", queue_id: int = 0, file: int = 0) -> str:
        folder = f"consumequeue/{topic}/{queue_id}"
        return f"{folder}/{self.disk.list_folder(folder)[file]}"

    def path_of_log(self, file: int = -1) -> str:
        return f"commitlog/{self.disk.list_folder('commitlog')[file]}"

    def truncate(self, path: str, size: int) -> None:
        self.disk.write_whole(path, self.disk.read_whole(path)[:size])

    def overwrite(self, path: str, position: int, data: bytes) -> None:
        content = bytearray(self.disk.read_whole(path))
        content[position : position + len(data)] = data
        self.disk.write_whole(path, bytes(content))

    def flip(self, path: str, position: int) -> None:
        self.overwrite(path, position, bytes((self.disk.read_whole(path)[position] ^ 0x55,)))
