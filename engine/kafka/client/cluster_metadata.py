"""Who leads which partition (Kafka: ``Metadata``, ``ConsumerMetadata``).

A client that is told of one broker alone asks that one for everything: it is taken to be alone. One that is told of
several asks one after the other who leads, and again whenever somebody says that it does not lead, or nothing at all.
Simplified: Kafka's clients ask again every five minutes, too, and learn of further brokers.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TypeVar

from engine.kafka.client.broker_connection import CONNECT_TIMEOUT_MS
from engine.kafka.client.errors import Disconnected
from engine.kafka.client.network_client import KafkaNetworkClient
from engine.kafka.records.error_code import KafkaErrorCode
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.wire.cluster import MetadataRequest, MetadataResponse
from engine.kafka.wire.fields import KafkaMessage
from engine.runtime.port import Runtime

#: A broker of several that is silent for longer is not waited for: the next one is asked.
_ASK_TIMEOUT_MS = 1_000
_REQUEST_TIMEOUT_MS = 30_000
_FIRST_ID = 40_001
#: What says that somebody else leads, or nobody.
MOVED = (
    KafkaErrorCode.LEADER_NOT_AVAILABLE,
    KafkaErrorCode.NOT_LEADER_OR_FOLLOWER,
    KafkaErrorCode.COORDINATOR_NOT_AVAILABLE,
    KafkaErrorCode.NOT_COORDINATOR,
)

_log = logging.getLogger("glassmq.kafka")
_Message = TypeVar("_Message", bound=KafkaMessage)


class ClusterMetadata:
    """:param bootstrap: ``host:port``, or several with commas between.

    :ivar needs_update: whether somebody wants to know more than is known.
    """

    def __init__(self, runtime: Runtime, bootstrap: str, client_id: str, retry_backoff_ms: int) -> None:
        self.needs_update = False
        self._addresses = bootstrap.split(",")
        is_alone = len(self._addresses) == 1
        self._client = KafkaNetworkClient(
            runtime,
            self._addresses[0],
            client_id,
            request_timeout_ms=_REQUEST_TIMEOUT_MS if is_alone else _ASK_TIMEOUT_MS,
            connect_timeout_ms=CONNECT_TIMEOUT_MS if is_alone else _ASK_TIMEOUT_MS,
            first_id=1 if is_alone else _FIRST_ID,
        )
        self._clock = runtime.clock
        self._retry_backoff_ms = retry_backoff_ms
        self._not_before_ms = 0
        self._asked = 0
        self._leaders: dict[TopicPartition, str] = {}
        self._topics: dict[str, None] = {}

    @property
    def is_alone(self) -> bool:
        """Whether there is one broker, as far as the client was told."""
        return len(self._addresses) == 1

    @property
    def any_address(self) -> str:
        """A broker that may be asked what any knows: another one after each failure."""
        return self._addresses[self._asked % len(self._addresses)]

    def leader_of(self, place: TopicPartition) -> str | None:
        """``host:port``; None: it is not known, and will be asked for."""
        if self.is_alone:
            return self._addresses[0]
        found = self._leaders.get(place)
        if found is None:
            self._topics[place.topic] = None
            self.needs_update = True
        return found

    def moved(self, place: TopicPartition) -> None:
        """Who was taken for its leader does not answer, or says that it is not."""
        if not self.is_alone:
            self._leaders.pop(place, None)
            self.needs_update = True

    def try_next(self) -> None:
        """Ask another broker next time."""
        self._asked += 1

    async def update(self) -> None:
        """Ask who leads; a while after the last time, however it ended."""
        wait_ms = self._not_before_ms - self._clock.now_ms()
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1_000)
        self._not_before_ms = self._clock.now_ms() + self._retry_backoff_ms
        try:
            answer = await self.ask(MetadataRequest(tuple(self._topics)), MetadataResponse)
        except Disconnected as error:
            _log.info("nobody says who leads: %s", error)
            return
        self.needs_update = False
        addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in answer.brokers}
        for topic in answer.topics:
            for part in topic.partitions:
                place = TopicPartition(topic.name, part.partition_index)
                self._leaders.pop(place, None)
                if part.leader_id in addresses:
                    self._leaders[place] = addresses[part.leader_id]

    async def ask(self, request: KafkaMessage, response: type[_Message]) -> _Message:
        """What any broker knows. Raises :class:`Disconnected`; the next try asks another one."""
        try:
            return await self._client.ask(request, response, self.any_address)
        except Disconnected:
            self.try_next()
            raise

    def close(self) -> None:
        """End the connections."""
        self._client.close()
