"""Replication from another broker (Kafka: ``ReplicaFetcherThread``, ``AbstractFetcherThread``), with the same frames
that consumers use::

    truncating -> OFFSET_FOR_LEADER_EPOCH -> cut what the leader has not -> fetching -> FETCH -> append -> FETCH ...

The offset of a fetch says what this replica has, and the response contains the high watermark. Simplified: a follower
that lags so far that the leader has deleted its next record never catches up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from engine.kafka.client.errors import Disconnected
from engine.kafka.client.network_client import KafkaNetworkClient
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.replica import Replica
from engine.kafka.replication.replica_state import ReplicaState
from engine.kafka.replication.replication_config import ReplicationConfig
from engine.kafka.wire.fetch import (
    READ_UNCOMMITTED,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from engine.kafka.wire.offsets import (
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
    TimeWanted,
    TopicTimesWanted,
)
from engine.kafka.wire.replication import (
    EpochWanted,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    TopicEpochsWanted,
)
from engine.runtime.port import DiskFault

#: ``replica.fetch.response.max.bytes``
_FETCH_MAX_BYTES = 10_485_760
_NO_SESSION = -1

_log = logging.getLogger("glassmq.kafka")


class ReplicaFetcher:
    """Copy partitions from one broker to this one: ``run`` in a task of its own, until ``replicas`` returns none.

    :param replicas: returns the replicas that follow that broker now.
    :param changed: called when a replica has advanced or was cut.
    """

    def __init__(
        self,
        node_id: int,
        client: KafkaNetworkClient,
        config: ReplicationConfig,
        replicas: Callable[[], list[Replica]],
        changed: Callable[[TopicPartition], None],
    ) -> None:
        self._node_id = node_id
        self._client = client
        self._config = config
        self._replicas = replicas
        self._changed = changed

    async def run(self) -> None:
        """Copy until ``replicas`` returns none."""
        try:
            while replicas := self._replicas():
                try:
                    is_well = await self._round(replicas)
                except (Disconnected, DiskFault) as error:
                    _log.info("cannot copy: %s", error)
                    is_well = False
                if not is_well:
                    await asyncio.sleep(self._config.replica_fetch_backoff_ms / 1_000)
        finally:
            self._client.close()

    async def _round(self, replicas: list[Replica]) -> bool:
        """Truncate where needed, then fetch. Return whether all went well. Raises :class:`Disconnected`,
        ``DiskFault``.
        """
        is_well = True
        for replica in replicas:
            if replica.state is ReplicaState.TRUNCATING:
                is_well &= await self._truncate(replica)
        fetching = [one for one in replicas if one.state is ReplicaState.FETCHING]
        if fetching:
            is_well &= await self._fetch(fetching)
        return is_well

    # --- truncation --------------------------------------------------------------------------------------------------

    async def _truncate(self, replica: Replica) -> bool:
        """Truncate the log to a prefix of its leader's. Return whether that is done."""
        log, epoch = replica.log, replica.leader_epoch
        if not self._config.leader_epochs:
            self._cut(replica, log.high_watermark)
            replica.fetch_on()
            return True
        while replica.leader_epoch == epoch and replica.state is ReplicaState.TRUNCATING:
            latest = log.epochs.latest
            if latest < 0:  # nothing was ever appended
                replica.fetch_on()
                return True
            found_epoch, end_offset, code = await self._end_of(replica, latest)
            if replica.leader_epoch != epoch or code:
                return not code
            if found_epoch < 0:
                self._cut(replica, log.high_watermark)
                replica.fetch_on()
                return True
            own_epoch, own_end = log.epochs.end_of(found_epoch, log.log_end_offset)
            self._cut(replica, min(end_offset, own_end) if own_epoch >= 0 else log.log_start_offset)
            if own_epoch == found_epoch or own_epoch < 0:
                replica.fetch_on()
        return True

    async def _end_of(self, replica: Replica, epoch: int) -> tuple[int, int, int]:
        """Return the epoch that the leader found, its end in the leader's log, and an error code."""
        wanted = EpochWanted(replica.place.partition, replica.leader_epoch, epoch)
        topics = (TopicEpochsWanted(replica.place.topic, (wanted,)),)
        answer = await self._client.ask(
            OffsetForLeaderEpochRequest(self._node_id, topics), OffsetForLeaderEpochResponse
        )
        part = answer.topics[0].partitions[0]
        return part.leader_epoch, part.end_offset, part.error_code

    def _cut(self, replica: Replica, offset: int) -> None:
        lost = replica.truncated_to(offset)
        if lost:
            _log.warning(
                "%s is cut at offset %d: its leader does not have the %d after it", replica.place, offset, lost
            )
            self._changed(replica.place)

    # --- fetching ----------------------------------------------------------------------------------------------------

    async def _fetch(self, replicas: list[Replica]) -> bool:
        topics: dict[str, list[FetchPartition]] = {}
        asked = {}
        for replica in replicas:
            end_offset = replica.log.log_end_offset
            asked[replica.place] = (replica, replica.leader_epoch, end_offset)
            limit = self._config.replica_fetch_max_bytes
            part = FetchPartition(
                replica.place.partition, replica.leader_epoch, end_offset, replica.log.log_start_offset, limit
            )
            topics.setdefault(replica.place.topic, []).append(part)
        request = FetchRequest(
            replica_id=self._node_id,
            max_wait_ms=self._config.replica_fetch_wait_max_ms,
            min_bytes=1,
            max_bytes=_FETCH_MAX_BYTES,
            isolation_level=READ_UNCOMMITTED,
            session_id=0,
            session_epoch=_NO_SESSION,
            topics=tuple(FetchTopic(topic, tuple(parts)) for topic, parts in topics.items()),
            forgotten_topics=(),
        )
        answer = await self._client.ask(request, FetchResponse)
        is_well = True
        for topic in answer.responses:
            for fetched in topic.partitions:
                replica, epoch, end_offset = asked[TopicPartition(topic.topic, fetched.partition)]
                is_same = replica.leader_epoch == epoch and replica.log.log_end_offset == end_offset
                if is_same and replica.state is ReplicaState.FETCHING:
                    is_well &= await self._fetched(replica, fetched)
        return is_well

    async def _fetched(self, replica: Replica, fetched: FetchedPartition) -> bool:
        if fetched.error_code == KafkaErrorCode.OFFSET_OUT_OF_RANGE:
            return await self._cut_at_leaders_end(replica)
        if fetched.error_code:
            _log.info("cannot copy %s: %s", replica.place, KafkaErrorCode(fetched.error_code).name)
            return False
        try:
            replica.copied(fetched.records or b"", fetched.high_watermark)
        except KafkaRefusal as refusal:
            _log.warning("a copy of %s is refused: %s", replica.place, refusal)
            return False
        self._changed(replica.place)
        return True

    async def _cut_at_leaders_end(self, replica: Replica) -> bool:
        """Truncate at the end of the leader's log, which is before the end of this one (Kafka:
        ``fetchOffsetAndTruncate``).
        """
        place, epoch = replica.place, replica.leader_epoch
        wanted = TopicTimesWanted(place.topic, (TimeWanted(place.partition, LATEST_TIMESTAMP),))
        answer = await self._client.ask(
            ListOffsetsRequest(self._node_id, READ_UNCOMMITTED, (wanted,)), ListOffsetsResponse
        )
        part = answer.topics[0].partitions[0]
        if part.error_code or replica.leader_epoch != epoch or part.offset > replica.log.log_end_offset:
            return False
        self._cut(replica, part.offset)
        return True
