"""RocketMQ's store: all messages in one commit log, one dense queue of entries per queue, and an index of keys."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from app.observation.unix_time import unix_us
from app.picture.pages.storage import FoundRecord
from app.storage.laboratory.traced_runtime import TracedRuntime
from app.storage.laboratory.traffic import LaboratoryTraffic, TrafficMessage
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.message_id import UniqueIdGenerator
from engine.protocol.message.message_properties import PROPERTY_KEYS, PROPERTY_UNIQUE_KEY, encode_properties
from engine.runtime.live.live_platform import new_event_loop
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.store_message import StoreMessage
from engine.store.message_store import MessageStore

#: A thousandth of RocketMQ's 1 GiB and 300,000 entries; an index with so few slots that chains have links.
CONFIG = MessageStoreConfig(
    mapped_file_size_commit_log=1024 * 1024,
    mapped_file_size_consume_queue_entries=300,
    max_hash_slot_num=500,
    max_index_num=5_000,
    max_message_size=64 * 1024,
    max_mapped_files=32,
)
#: Messages that one search by key returns at most: RocketMQ's own bound (``maxMsgsNumBatch``).
KEY_MATCHES_MAX = CONFIG.max_messages_num_batch

_CLIENT_IP = "192.0.2.10"
_BORN_HOST, _STORE_HOST = f"{_CLIENT_IP}:40000", "192.0.2.1:10911"
_TIME_MAX_MS = 2**62


class RocketmqSide:
    """RocketMQ's store; a :class:`~app.storage.laboratory.store_side.StoreSide`."""

    def __init__(self, folder: Path, traffic: LaboratoryTraffic) -> None:
        self.runtime = TracedRuntime("rocketmq", folder)
        self._turn_messages = traffic.batch_records
        #: Loaded, not started, after the first search.
        self._loaded: MessageStore | None = None

    def write(self, messages: Iterable[TrafficMessage]) -> None:
        _run(self._write(messages))

    async def _write(self, messages: Iterable[TrafficMessage]) -> None:
        store = MessageStore(self.runtime, CONFIG)
        store.load()
        store.start()
        unique_ids = UniqueIdGenerator(_CLIENT_IP, 1, 1, self.runtime.clock.now_ms)
        for number, message in enumerate(messages, 1):
            self.runtime.clock.time_ms = message.born_ms
            result = store.put_message(_stored(message, unique_ids.next()))
            assert result.is_ok, result.remark
            if number % self._turn_messages == 0:
                await asyncio.sleep(0)  # a turn of the loop: the messages are dispatched to their queues
        await store.shutdown()

    @property
    def _store(self) -> MessageStore:
        """Return the store as after a restart: nothing of the index is kept in memory, so that a search reads from the
        disk.
        """
        if self._loaded is None:
            self._loaded = MessageStore(self.runtime, CONFIG)
            self._loaded.load()
        return self._loaded

    def opened(self, topic: str | None, queue_id: int | None) -> AbstractContextManager[object]:
        """Open the whole store: a loaded store stays open."""
        return nullcontext(self._store)

    def by_offset(self, topic: str, queue_id: int, offset: int) -> list[FoundRecord]:
        message = self._store.message_in_queue(topic, queue_id, offset)
        return [] if message is None else [_found(message)]

    def by_key(self, topic: str, key: str) -> list[FoundRecord]:
        result = self._store.query_message(topic, key, KEY_MATCHES_MAX, 0, _TIME_MAX_MS)
        return [_found(decode_stored_message(record)) for record in result.buffers]

    def by_time(self, topic: str, queue_id: int, time_ms: int) -> list[FoundRecord]:
        return self.by_offset(topic, queue_id, self._store.offset_by_time(topic, queue_id, time_ms))

    def close(self) -> None:
        if self._loaded is not None:
            _run(self._loaded.abandon())
        self.runtime.close()


def _run(work: Coroutine[object, object, None]) -> None:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(work)


def _found(message: MessageExt) -> FoundRecord:
    key = next(iter(message.keys), None)
    return {
        "topic": message.topic,
        "queue_id": message.queue_id,
        "offset": message.queue_offset,
        "key": key,
        "stored_us": unix_us(message.store_timestamp),
    }


def _stored(message: TrafficMessage, unique_id: str) -> StoreMessage:
    key = message.key or ""
    properties = {**({PROPERTY_KEYS: key} if key else {}), PROPERTY_UNIQUE_KEY: unique_id}
    return StoreMessage(
        topic=message.topic,
        queue_id=message.queue_id,
        body=message.body,
        properties_string=encode_properties(properties),
        born_timestamp=message.born_ms,
        born_host=_BORN_HOST,
        store_host=_STORE_HOST,
        keys=key,
        unique_key=unique_id,
    )
