"""A consumer of records (Kafka: ``KafkaConsumer``, ``ClassicKafkaConsumer``, ``ConsumerCoordinator``).

Simplified: partitions are assigned by hand (``assign``), groups have offsets but no members.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TypeVar

from engine.kafka.client.cluster_metadata import MOVED, ClusterMetadata
from engine.kafka.client.consumer_config import ConsumerConfig, OffsetReset
from engine.kafka.client.errors import Disconnected, NoOffsetForPartition, SendRefused
from engine.kafka.client.fetcher import Fetcher
from engine.kafka.client.network_client import KafkaNetworkClient
from engine.kafka.records.error_code import KafkaErrorCode
from engine.kafka.records.record import Record
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.offsets import (
    DEFAULT_RETENTION,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    NO_GENERATION,
    NO_MEMBER,
    OF_GROUP,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    PartitionCommit,
    TimeWanted,
    TopicCommits,
    TopicPartitions,
    TopicTimesWanted,
)
from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.kafka")
_Message = TypeVar("_Message", bound=KafkaMessage)


class KafkaConsumer:
    """Consume records: ``assign(...)``, ``await poll(...)`` repeatedly, ``await close()``, all from one task.

    :ivar fetcher, client, coordinator, metadata: its parts, for inspection.
    :ivar committed: the last committed offsets, as far as this consumer knows.
    """

    def __init__(self, runtime: Runtime, config: ConsumerConfig) -> None:
        self.config = config
        self.client = KafkaNetworkClient(
            runtime, config.bootstrap, config.client_id, request_timeout_ms=config.request_timeout_ms
        )
        # As in Kafka a connection of its own: a commit must not queue up after a fetch that waits.
        self.coordinator = KafkaNetworkClient(
            runtime, config.bootstrap, config.client_id, request_timeout_ms=config.request_timeout_ms
        )
        self.metadata = ClusterMetadata(runtime, config.bootstrap, config.client_id, config.retry_backoff_ms)
        self.fetcher = Fetcher(config, self.client, self.metadata, runtime.clock, self._offset_is_gone)
        self.committed: dict[TopicPartition, int] = {}
        self._clock = runtime.clock
        self._without_position: dict[TopicPartition, None] = {}
        self._gone: dict[TopicPartition, None] = {}
        self._next_commit_ms = 0
        #: Address of the group's coordinator; None: it is requested when it is needed.
        self._coordinator_address: str | None = None

    def assign(self, places: Sequence[TopicPartition]) -> None:
        """Consume these partitions from now on, each from the group's committed offset."""
        self.fetcher.forget()
        self._without_position = dict.fromkeys(places)
        self._next_commit_ms = self._clock.now_ms() + self.config.auto_commit_interval_ms

    def seek(self, place: TopicPartition, offset: int) -> None:
        """Continue at ``offset``."""
        self._without_position.pop(place, None)
        self.fetcher.seek(place, offset)

    def position(self, place: TopicPartition) -> int | None:
        """Return the offset of the next record that ``poll`` returns; None if it is not known yet."""
        return self.fetcher.positions.get(place)

    async def poll(self, timeout_ms: int) -> dict[TopicPartition, list[Record]]:
        """Return the next records, or none if the timeout passes.

        Raises :class:`NoOffsetForPartition`, :class:`KafkaRefusal` for a damaged batch.
        """
        end_ms = self._clock.now_ms() + timeout_ms
        await self._commit_if_due()
        while True:
            if self.metadata.needs_update:
                await self.metadata.update()
            await self._find_positions()
            records = await self._poll_for_fetches(max(0, end_ms - self._clock.now_ms()))
            if records:
                # While the caller processes these records, the next ones are already being fetched.
                self.fetcher.send_fetches()
                await self.client.poll(0)
                return records
            if self._clock.now_ms() >= end_ms:
                return {}

    async def _poll_for_fetches(self, timeout_ms: int) -> dict[TopicPartition, list[Record]]:
        """Return what is there already, or send, wait and collect, as in Kafka (seed 001 shows Kafka's code)."""
        records = self.fetcher.collect_fetch()
        if records:
            return records
        self.fetcher.send_fetches()
        if rest_ms := self.fetcher.wait_ms():
            await self.client.poll(min(timeout_ms, rest_ms))
        else:
            await self.client.poll(timeout_ms, lambda: self._is_news)
        return self.fetcher.collect_fetch()

    @property
    def _is_news(self) -> bool:
        return self.fetcher.has_fetches or bool(self._without_position) or self.fetcher.wait_ms() > 0

    # --- positions ---------------------------------------------------------------------------------------------------

    def _offset_is_gone(self, place: TopicPartition) -> None:
        _log.info("offset %d is not in %s any more", self.fetcher.positions.pop(place), place)
        self._without_position[place] = None
        self._gone[place] = None

    async def _find_positions(self) -> None:
        """Find the committed offsets, or else the positions that ``auto.offset.reset`` specifies."""
        for place in list(self._without_position):
            try:
                offset = None if place in self._gone else await self._committed_offset(place)
                if offset is None:
                    offset = await self._reset_offset(place)
            except Disconnected as error:
                _log.info("no position in %s yet: %s", place, error)
                await self.client.poll(self.config.retry_backoff_ms)
                return
            self._gone.pop(place, None)
            self.seek(place, offset)

    async def _committed_offset(self, place: TopicPartition) -> int | None:
        request = OffsetFetchRequest(self.config.group_id, (TopicPartitions(place.topic, (place.partition,)),))
        answer = await self._ask_coordinator(request, OffsetFetchResponse)
        part = answer.topics[0].partitions[0]
        self._raise_if_refused(part.error_code, f"the offset of {self.config.group_id} in {place}")
        if part.offset < 0:
            return None
        self.committed[place] = part.offset
        return part.offset

    async def _reset_offset(self, place: TopicPartition) -> int:
        reset = self.config.auto_offset_reset
        if reset is OffsetReset.NONE:
            raise NoOffsetForPartition(f"group {self.config.group_id} has no offset in {place}, and may not start over")
        time = EARLIEST_TIMESTAMP if reset is OffsetReset.EARLIEST else LATEST_TIMESTAMP
        return (await self.offset_for_time(place, time)) or 0

    async def offset_for_time(self, place: TopicPartition, timestamp_ms: int) -> int | None:
        """Return the offset of the first record with this timestamp or a later one; None if all are earlier. Raises
        :class:`Disconnected`, :class:`SendRefused`.
        """
        wanted = TopicTimesWanted(place.topic, (TimeWanted(place.partition, timestamp_ms),))
        request = ListOffsetsRequest(-1, self.config.isolation_level.number, (wanted,))
        leader = self.metadata.leader_of(place)
        if leader is None:
            raise Disconnected(f"no leader is known of {place}")
        answer = await self.client.ask(request, ListOffsetsResponse, leader)
        part = answer.topics[0].partitions[0]
        if part.error_code in MOVED:
            self.metadata.moved(place)
        self._raise_if_refused(part.error_code, f"a time in {place}")
        return part.offset if part.offset >= 0 else None

    # --- commits -----------------------------------------------------------------------------------------------------

    async def commit(self) -> None:
        """Commit the positions: all records that were returned count as done. Raises :class:`SendRefused`, or
        :class:`Disconnected`, after which it is unknown whether they are committed.
        """
        positions = {
            place: offset for place, offset in self.fetcher.positions.items() if self.committed.get(place) != offset
        }
        if not positions:
            return
        topics: dict[str, list[PartitionCommit]] = {}
        for place, offset in positions.items():
            topics.setdefault(place.topic, []).append(PartitionCommit(place.partition, offset, ""))
        request = OffsetCommitRequest(
            self.config.group_id,
            NO_GENERATION,
            NO_MEMBER,
            DEFAULT_RETENTION,
            tuple(TopicCommits(topic, tuple(parts)) for topic, parts in topics.items()),
        )
        answer = await self._ask_coordinator(request, OffsetCommitResponse)
        for topic in answer.topics:
            for part in topic.partitions:
                place = TopicPartition(topic.name, part.index)
                self._raise_if_refused(part.error_code, f"a commit of {self.config.group_id} in {place}")
                self.committed[place] = positions[place]

    async def _commit_if_due(self) -> None:
        if self.config.enable_auto_commit and self._clock.now_ms() >= self._next_commit_ms:
            self._next_commit_ms = self._clock.now_ms() + self.config.auto_commit_interval_ms
            try:
                await self.commit()
            except (Disconnected, SendRefused) as error:
                _log.info("not committed, the next round does it: %s", error)

    async def _ask_coordinator(self, request: KafkaMessage, response: type[_Message]) -> _Message:
        """Send a request to the group's coordinator, which is one of the brokers. Raises :class:`Disconnected`."""
        if self._coordinator_address is None and not self.metadata.is_alone:
            found = await self.metadata.ask(
                FindCoordinatorRequest(self.config.group_id, OF_GROUP), FindCoordinatorResponse
            )
            self._raise_if_refused(found.error_code, f"the coordinator of {self.config.group_id}")
            self._coordinator_address = f"{found.host}:{found.port}"
        try:
            return await self.coordinator.ask(request, response, self._coordinator_address or "")
        except Disconnected:
            self._coordinator_address = None
            raise

    def _raise_if_refused(self, error_code: int, what: str) -> None:
        """Raise an error for the code; if another broker has to be asked, as if no response had come."""
        code = KafkaErrorCode(error_code)
        if code in MOVED:
            self._coordinator_address = None
            raise Disconnected(f"{what}: {code.name}")
        if code:
            raise SendRefused(code, f"{what}: {code.name}")

    async def close(self) -> None:
        """Commit if auto-commit is on, and close."""
        if self.config.enable_auto_commit:
            self._next_commit_ms = 0
            await self._commit_if_due()
        self.abandon()

    def abandon(self) -> None:
        """Close immediately, as the end of the process does."""
        self.client.close()
        self.coordinator.close()
        self.metadata.close()
