"""Prefetching: fetched batches stay compressed until the application polls (Kafka: ``Fetcher``, ``FetchCollector``,
``CompletedFetch``).

::

    send_fetches -> client.unsent -> client.poll -> completed_fetches -> collect_fetch -> records

A batch is decompressed only when its records are wanted, and only then does the position advance. Transaction markers
are skipped, and so are aborted records for a ``read_committed`` consumer: the broker sends them nevertheless, with a
list of the producers whose batches are aborted and from which offset.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.kafka.client.cluster_metadata import MOVED, ClusterMetadata
from engine.kafka.client.consumer_config import ConsumerConfig
from engine.kafka.client.errors import Disconnected
from engine.kafka.client.network_client import KafkaNetworkClient
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import HEADER_BYTES, checked_header, decode_batch, read_header
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.wire.fetch import (
    AbortedTransaction,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from engine.kafka.wire.fields import KafkaMessage
from engine.runtime.port import Clock

#: ``replica_id`` of a client that is not a replica, ``session_epoch`` of a client without a session, an unknown epoch
#: or offset.
_NOBODY = _NO_SESSION = _UNKNOWN = -1

_log = logging.getLogger("glassmq.kafka")


@dataclass(slots=True)
class CompletedFetch:
    """The result of one fetch for one partition.

    :ivar data: batches, decompressed one at a time by :meth:`take`.
    :ivar aborted: aborted transactions, by their first offsets.
    :ivar records: records of the last opened batch that are still to be returned.
    :ivar next_offset: offset after the last batch that was opened or skipped; -1: no batch yet.
    :ivar refusal: the broker found the first batch damaged; raised when its records are wanted.
    """

    place: TopicPartition
    data: bytes
    high_watermark: int
    aborted: deque[AbortedTransaction] = field(default_factory=deque)
    read_bytes: int = 0
    records: deque[Record] = field(default_factory=deque)
    refusal: KafkaRefusal | None = None
    next_offset: int = -1
    #: Producers whose aborted transaction has begun and has not ended yet.
    _aborting: dict[int, None] = field(default_factory=dict)

    @property
    def left_bytes(self) -> int:
        """Return the size of the batches that are not opened yet."""
        return len(self.data) - self.read_bytes

    @property
    def is_drained(self) -> bool:
        """Return whether nothing is left."""
        return not self.records and self.left_bytes == 0

    def take(self, position: int, limit: int) -> list[Record]:
        """Return up to ``limit`` records from offset ``position`` on.

        Raises :class:`KafkaRefusal` at a damaged batch, once the records before it have been taken.
        """
        if self.refusal is not None:
            raise self.refusal
        taken: list[Record] = []
        while len(taken) < limit and not self.is_drained:
            if not self.records:
                try:
                    self._open_batch()
                except KafkaRefusal:
                    if taken:
                        break
                    raise
            while self.records and len(taken) < limit:
                record = self.records.popleft()
                if record.offset >= position:
                    taken.append(record)
        return taken

    def _open_batch(self) -> None:
        look_at = read_header if self.left_bytes >= HEADER_BYTES else checked_header
        header = look_at(self.data, self.read_bytes)
        while self.aborted and self.aborted[0].first_offset <= header.last_offset:
            self._aborting[self.aborted.popleft().producer_id] = None
        is_aborted = header.is_transactional and header.producer_id in self._aborting
        if not header.is_control and not is_aborted:
            self.records.extend(decode_batch(self.data, self.read_bytes))
        else:
            checked_header(self.data, self.read_bytes)
            if header.is_control:
                self._aborting.pop(header.producer_id, None)
        self.read_bytes += header.size_bytes
        self.next_offset = header.next_offset


class Fetcher:
    """Fetch records ahead of the application's polls.

    :ivar positions: assigned partition -> offset of the next record to return.
    :ivar completed_fetches: results that wait to be collected, in order of arrival.
    :ivar pending: partitions with a fetch that is not answered yet.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        client: KafkaNetworkClient,
        metadata: ClusterMetadata,
        clock: Clock,
        offset_is_gone: Callable[[TopicPartition], None],
    ) -> None:
        self.positions: dict[TopicPartition, int] = {}
        self.completed_fetches: deque[CompletedFetch] = deque()
        self.pending: dict[TopicPartition, None] = {}
        self._config = config
        self._client = client
        self._metadata = metadata
        self._clock = clock
        self._offset_is_gone = offset_is_gone
        self._not_before_ms = 0
        #: Fetches that were sent before the assignment or a position changed are discarded.
        self._generation = 0

    def seek(self, place: TopicPartition, offset: int) -> None:
        """Continue at ``offset``; what was fetched is discarded."""
        self.positions[place] = offset
        self.completed_fetches = deque(fetch for fetch in self.completed_fetches if fetch.place != place)
        self.pending.clear()
        self._generation += 1

    def forget(self) -> None:
        """Discard what was fetched, as the assignment has changed."""
        self.positions.clear()
        self.completed_fetches.clear()
        self.pending.clear()
        self._generation += 1

    @property
    def has_fetches(self) -> bool:
        """Return whether fetched records are ready to be collected."""
        return bool(self.completed_fetches)

    def wait_ms(self) -> int:
        """Return for how many ms no fetch may be sent, after an error."""
        return max(0, self._not_before_ms - self._clock.now_ms())

    def send_fetches(self) -> int:
        """Fetch all partitions that have neither data nor a pending fetch. Return the number of requests."""
        held = {fetch.place: None for fetch in self.completed_fetches}
        wanted = [place for place in self.positions if place not in held and place not in self.pending]
        if not wanted or self.wait_ms():
            return 0
        by_leader: dict[str, list[TopicPartition]] = {}
        for place in wanted:
            leader = self._metadata.leader_of(place)
            if leader is None:
                self._rest()
            else:
                by_leader.setdefault(leader, []).append(place)
        for leader, places in by_leader.items():
            self._request(leader, places)
        return len(by_leader)

    def _request(self, leader: str, wanted: list[TopicPartition]) -> None:
        topics: dict[str, list[FetchPartition]] = {}
        for place in wanted:
            limit = self._config.max_partition_fetch_bytes
            part = FetchPartition(place.partition, _UNKNOWN, self.positions[place], _UNKNOWN, limit)
            topics.setdefault(place.topic, []).append(part)
        request = FetchRequest(
            replica_id=_NOBODY,
            max_wait_ms=self._config.fetch_max_wait_ms,
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=self._config.fetch_max_bytes,
            isolation_level=self._config.isolation_level.number,
            session_id=0,
            session_epoch=_NO_SESSION,
            topics=tuple(FetchTopic(topic, tuple(parts)) for topic, parts in topics.items()),
            forgotten_topics=(),
        )
        self.pending.update(dict.fromkeys(wanted))
        generation = self._generation
        self._client.send(request, lambda answer: self._answered(answer, wanted, generation), address=leader)

    def _answered(
        self, answer: KafkaMessage | Disconnected | None, wanted: list[TopicPartition], generation: int
    ) -> None:
        if generation != self._generation:
            return
        for place in wanted:
            self.pending.pop(place, None)
        if isinstance(answer, Disconnected):
            _log.info("a fetch got no answer: %s", answer)
            for place in wanted:
                self._metadata.moved(place)
            self._rest()
            return
        assert isinstance(answer, FetchResponse)
        for topic in answer.responses:
            for part in topic.partitions:
                self._arrived(TopicPartition(topic.topic, part.partition), part)

    def _arrived(self, place: TopicPartition, part: FetchedPartition) -> None:
        if part.error_code == KafkaErrorCode.OFFSET_OUT_OF_RANGE:
            self._offset_is_gone(place)
        elif part.error_code == KafkaErrorCode.CORRUPT_MESSAGE:
            reported = KafkaRefusal(
                KafkaErrorCode.CORRUPT_MESSAGE, f"{place} is damaged at offset {self.positions[place]}"
            )
            self.completed_fetches.append(CompletedFetch(place, b"", part.high_watermark, refusal=reported))
        elif part.error_code:
            if part.error_code in MOVED:
                self._metadata.moved(place)
            _log.warning("cannot fetch from %s: %s", place, KafkaErrorCode(part.error_code).name)
            self._rest()
        elif part.records:
            aborted = deque(part.aborted_transactions or ())
            self.completed_fetches.append(CompletedFetch(place, part.records, part.high_watermark, aborted))

    def _rest(self) -> None:
        self._not_before_ms = self._clock.now_ms() + self._config.retry_backoff_ms

    def collect_fetch(self) -> dict[TopicPartition, list[Record]]:
        """Return up to ``max.poll.records`` records that were fetched, and advance the positions past them.

        Raises :class:`KafkaRefusal` if the next batch is damaged; nothing was taken then.
        """
        collected: dict[TopicPartition, list[Record]] = {}
        left = self._config.max_poll_records
        while left and self.completed_fetches:
            fetch = self.completed_fetches[0]
            try:
                records = fetch.take(self.positions[fetch.place], left)
            except KafkaRefusal:
                if collected:
                    break  # return these records first
                self.seek(fetch.place, self.positions[fetch.place])
                self._rest()
                raise
            if records:
                collected.setdefault(fetch.place, []).extend(records)
                self.positions[fetch.place] = records[-1].offset + 1
                left -= len(records)
            if fetch.is_drained:
                self.completed_fetches.popleft()
                self.positions[fetch.place] = max(self.positions[fetch.place], fetch.next_offset)
        return collected
