"""Kafka's store: a log of its own for each partition, in batches, with a sparse index; there is no index of keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from app.observation.unix_time import unix_us
from app.picture.pages.storage import FoundRecord
from app.storage.laboratory.traced_runtime import TracedRuntime
from app.storage.laboratory.traffic import FIRST_MS, LaboratoryTraffic, TrafficMessage
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.records.compression import Codec
from engine.kafka.records.error_code import KafkaRefusal
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import decode_batch, encode_batch, read_header

#: Kafka's segments have 1 GiB; the interval between two entries of the index is Kafka's own.
CONFIG = PartitionLogConfig(segment_bytes=128 * 1024, retention_ms=-1)
#: Bytes that a consumer fetches in one request (``max.partition.fetch.bytes``).
FETCH_BYTES = 1_048_576


class KafkaSide:
    """Kafka's store; a :class:`~app.storage.laboratory.store_side.StoreSide`."""

    def __init__(self, folder: Path, traffic: LaboratoryTraffic) -> None:
        self.runtime = TracedRuntime("kafka", folder)
        self._traffic = traffic
        self._open: dict[tuple[str, int], PartitionLog] = {}

    def write(self, messages: Iterable[TrafficMessage]) -> None:
        with self.opened(None, None):
            for time_ms, place, batch in self._batches(messages):
                self.runtime.clock.time_ms = time_ms
                self._log(place).append(batch)

    def _batches(self, messages: Iterable[TrafficMessage]) -> Iterator[tuple[int, tuple[str, int], bytes]]:
        """Yield (when it is full, topic and partition, batch), as a producer packs them."""
        codec = Codec[self._traffic.codec.upper()]
        gathered: defaultdict[tuple[str, int], list[Record]] = defaultdict(list)
        time_ms = FIRST_MS
        for message in messages:
            time_ms, place = message.born_ms, (message.topic, message.queue_id)
            key = message.key.encode() if message.key is not None else None
            gathered[place].append(Record(0, time_ms, key, message.body))
            if len(gathered[place]) == self._traffic.batch_records:
                yield time_ms, place, encode_batch(gathered.pop(place), codec)
        for place, records in gathered.items():
            yield time_ms, place, encode_batch(records, codec)

    def _log(self, place: tuple[str, int]) -> PartitionLog:
        if place not in self._open:
            topic, partition = place
            log = PartitionLog(self.runtime.disk, self.runtime.clock, f"{topic}-{partition}", CONFIG)
            log.load()
            self._open[place] = log
        return self._open[place]

    def _close_logs(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    @contextmanager
    def opened(self, topic: str | None, queue_id: int | None) -> Iterator[None]:
        topics = map(self._traffic.topic, range(self._traffic.topics)) if topic is None else (topic,)
        partitions = range(self._traffic.queues) if queue_id is None else (queue_id,)
        try:
            for place in product(topics, partitions):
                self._log(place)
            yield
        finally:
            self._close_logs()

    def by_offset(self, topic: str, queue_id: int, offset: int) -> list[FoundRecord]:
        try:
            data = self._log((topic, queue_id)).read(offset, 1).data
        except KafkaRefusal:
            return []
        records = decode_batch(data) if data else []
        return [_found(topic, queue_id, record) for record in records if record.offset == offset]

    def by_key(self, topic: str, key: str) -> list[FoundRecord]:
        """Find messages by key without an index: every batch of the topic is fetched and decompressed, as a consumer
        would do it.
        """
        wanted, found = key.encode(), []
        for partition in range(self._traffic.queues):
            log = self._log((topic, partition))
            offset = log.log_start_offset
            while data := log.read(offset, FETCH_BYTES).data:
                position = 0
                while position < len(data):
                    records = decode_batch(data, position)
                    found += [_found(topic, partition, record) for record in records if record.key == wanted]
                    header = read_header(data, position)
                    position, offset = position + header.size_bytes, header.next_offset
        return found

    def by_time(self, topic: str, queue_id: int, time_ms: int) -> list[FoundRecord]:
        place = self._log((topic, queue_id)).offset_for_time(time_ms)
        return [] if place is None else self.by_offset(topic, queue_id, place[1])

    def close(self) -> None:
        self._close_logs()
        self.runtime.close()


def _found(topic: str, partition: int, record: Record) -> FoundRecord:
    key = record.key.decode() if record.key is not None else None
    return {
        "topic": topic,
        "queue_id": partition,
        "offset": record.offset,
        "key": key,
        "stored_us": unix_us(record.timestamp_ms),
    }
