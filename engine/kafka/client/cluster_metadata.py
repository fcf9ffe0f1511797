"""Leaders of partitions as a client knows them (Kafka: ``Metadata``, ``ConsumerMetadata``).

A client that is given one broker address sends everything to that broker, which is taken to be alone. One that is given
several asks them in turn for the leaders, and again whenever a broker answers that it is not the leader or does not
answer. Simplified: Kafka's clients also ask again every five minutes, and learn of further brokers.
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

#: With several brokers, one that has not answered for this long is given up and the next one is asked.
_ASK_TIMEOUT_MS = 1_000
_REQUEST_TIMEOUT_MS = 30_000
_FIRST_ID = 40_001
#: Errors that say that another broker leads, or none.
MOVED = (
    KafkaErrorCode.LEADER_NOT_AVAILABLE,
    KafkaErrorCode.NOT_LEADER_OR_FOLLOWER,
    KafkaErrorCode.COORDINATOR_NOT_AVAILABLE,
    KafkaErrorCode.NOT_COORDINATOR,
)

_log = logging.getLogger("glassmq.kafka")
_Message = TypeVar("_Message", bound=KafkaMessage)


class ClusterMetadata:
    """Find the leaders of partitions.

    :param bootstrap: ``host:port``, or several separated by commas.
    :ivar needs_update: whether a partition is wanted whose leader is unknown.
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
        """Return whether the client was given a single broker address."""
        return len(self._addresses) == 1

    @property
    def any_address(self) -> str:
        """Return a broker for requests that any broker can answer: another one after each failure."""
        return self._addresses[self._asked % len(self._addresses)]

    def leader_of(self, place: TopicPartition) -> str | None:
        """Return the leader's ``host:port``; None if it is unknown and will be requested."""
        if self.is_alone:
            return self._addresses[0]
        found = self._leaders.get(place)
        if found is None:
            self._topics[place.topic] = None
            self.needs_update = True
        return found

    def moved(self, place: TopicPartition) -> None:
        """Note that the presumed leader does not answer or says that it is not the leader."""
        if not self.is_alone:
            self._leaders.pop(place, None)
            self.needs_update = True

    def try_next(self) -> None:
        """Use another broker next time."""
        self._asked += 1

    async def update(self) -> None:
        """Request the leaders, no sooner than the retry backoff after the last request."""
        wait_ms = self._not_before_ms - self._clock.now_ms()
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1_000)
        self._not_before_ms = self._clock.now_ms() + self._retry_backoff_ms
        try:
            answer = await self.ask(MetadataRequest(tuple(self._topics)), MetadataResponse)
        except Disconnected as error:
            _log.info("no leader is known: %s", error)
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
        """Send a request that any broker can answer. Raises :class:`Disconnected`; the next call uses another
        broker.
        """
        try:
            return await self._client.ask(request, response, self.any_address)
        except Disconnected:
            self.try_next()
            raise

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
