"""Reads from a running cluster what the small command-line tools show, over the wire as any client would.

Works with GlassMQ and with a real RocketMQ 4.x.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from app.remote.cluster_access import cluster_access
from engine.client.foundation.errors import MQBrokerError, NameServerUnreachable, RequestFailed
from engine.client.instance.mq_client_api import MQClientApi
from engine.protocol.body import question
from engine.protocol.body.bodies import ClusterInfo
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.question import AdminQuestion
from engine.protocol.command.command_header import CommandHeader
from engine.protocol.command.headers import (
    GetConsumerConnectionListRequestHeader,
    GetConsumeStatsRequestHeader,
    GetTopicStatsInfoRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import MessageModel
from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_fields import as_object, get_boolean, get_integer
from engine.protocol.json_form.json_text import ObjectKeyMap, loads_json_object
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.names import RETRY_GROUP_TOPIC_PREFIX, is_retry_topic, is_system_topic, reply_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.remoting_client import RemotingClient
from engine.runtime.live.live_runtime import LiveRuntime

_T = TypeVar("_T")

TIMEOUT_MS = 5_000
#: Messages that a search by unique id requests from one broker.
_QUERY_MAX = 32


@dataclass(frozen=True, slots=True)
class QueueEnds:
    """One queue of a topic: its smallest and its next offset, and when its newest message was stored."""

    queue: MessageQueue
    min_offset: int
    max_offset: int
    last_update_ms: int = 0


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """The progress of a group on one queue.

    :ivar is_reset_awaited: the queue was reset and no member has begun there yet. RocketMQ's brokers do not report
        this.
    :ivar broadcasts: each member of the group keeps its own offsets. RocketMQ's brokers do not report this either.
    """

    queue: MessageQueue
    broker_offset: int
    consumer_offset: int
    is_reset_awaited: bool = False
    broadcasts: bool = False

    @property
    def lag(self) -> int | None:
        """Return the number of messages that are not confirmed yet; None for a group whose members keep their own
        offsets.
        """
        return None if self.broadcasts else max(0, self.broker_offset - self.consumer_offset)


class ClusterReader(MQClientApi):
    """Reads from all brokers that ``name_servers`` (each ``"host:port"``) know.

    Every method raises an ``MQClientError`` when a server does not answer or refuses.
    """

    def __init__(
        self, remoting_client: RemotingClient, name_servers: Sequence[str], timeout_ms: int = TIMEOUT_MS
    ) -> None:
        super().__init__(remoting_client, name_servers, timeout_ms)

    async def broker_addresses(self) -> dict[str, str]:
        """Return broker name -> address of its master."""
        table = (await self._cluster_info()).broker_addr_table
        return {name: data.master_address for name, data in sorted(table.items()) if data.master_address}

    async def brokers(self) -> list[tuple[str, int, str]]:
        """Return name, id and address of every broker, sorted; id 0 is the master of its name."""
        table = (await self._cluster_info()).broker_addr_table
        return sorted((name, *one) for name, data in table.items() for one in data.broker_addrs.items())

    async def _cluster_info(self) -> ClusterInfo:
        return await self._ask_name_server(question.cluster_info())

    async def topics(self) -> list[str]:
        """Return all topics, sorted."""
        names = await self._ask_name_server(question.topic_names())
        return sorted(names)

    async def user_topics(self) -> list[str]:
        """Return the topics of users and those of dead letters, sorted: none of the brokers' own, no retry topics."""
        info = await self._cluster_info()
        # Topics named like a cluster or a broker are templates for tools; replies have topics of their own.
        clusters = info.cluster_addr_table
        hidden = {*info.broker_addr_table, *clusters, *map(reply_topic, clusters)}
        return [
            name
            for name in await self.topics()
            if not (name in hidden or is_system_topic(name) or is_retry_topic(name))
        ]

    async def has_topic(self, topic: str) -> bool:
        """Return whether clients can get a route of ``topic``."""
        try:
            await self.topic_route(topic)
        except MQBrokerError as error:
            if error.code == ResponseCode.TOPIC_NOT_EXIST:
                return False
            raise
        return True

    async def topic_queues(self, topic: str) -> list[QueueEnds]:
        """Return the queues of ``topic`` on all brokers; none where a broker does not have the topic."""
        header = GetTopicStatsInfoRequestHeader(topic=topic)
        bodies = await self._ask_brokers(RequestCode.GET_TOPIC_STATS_INFO, header, f"describe topic {topic}")
        return sorted((ends for body in bodies for ends in queue_ends(body)), key=lambda ends: ends.queue)

    async def groups(self) -> list[str]:
        """Return the groups that have consumed: each has a retry topic."""
        prefix = RETRY_GROUP_TOPIC_PREFIX
        return [topic.removeprefix(prefix) for topic in await self.topics() if topic.startswith(prefix)]

    async def group_progress(self, group: str) -> list[GroupProgress]:
        """Return the offsets of ``group`` on every queue of which a broker has its offset."""
        header = GetConsumeStatsRequestHeader(consumer_group=group)
        bodies = await self._ask_brokers(RequestCode.GET_CONSUME_STATS, header, f"describe group {group}")
        return sorted((progress for body in bodies for progress in progress_of(body)), key=lambda found: found.queue)

    async def message(self, unique_id: str, topic: str | None) -> MessageExt | None:
        """Return a message with this unique id."""
        brokers = await self.broker_addresses()
        for name in [topic] if topic is not None else await self.topics():
            for broker in brokers.values():
                found = await self._query_unique_id(broker, name, unique_id)
                if found is not None:
                    return found
        return None

    async def _query_unique_id(self, address: str, topic: str, unique_id: str) -> MessageExt | None:
        asked = question.messages_called(topic, unique_id, _QUERY_MAX, is_unique_id=True)
        found = decode_messages(await self.look_for(address, asked, "search a message"))
        return next((message for message in found if message.unique_id == unique_id), None)

    async def messages_with_key(self, topic: str, key: str, count_per_broker: int) -> list[MessageExt]:
        """Return messages of ``topic`` that have ``key`` among their keys, from all brokers."""
        found = []
        asked = question.messages_called(topic, key, count_per_broker)
        for address in (await self.broker_addresses()).values():
            messages = decode_messages(await self.look_for(address, asked, "search messages"))
            found += [message for message in messages if key in message.keys]
        return found

    async def look_for(self, address: str, asked: AdminQuestion[bytes], what: str | None = None) -> bytes:
        """Return stored messages that a broker may have; none for any answer but SUCCESS."""
        reply = await self.exchange(address, asked.request(), what or asked.what)
        return asked.read(reply) if reply.code == ResponseCode.SUCCESS else b""

    async def members(self, address: str, group: str) -> dict[str, Any] | None:
        """Return what a broker reports of the online members of ``group``; None without members."""
        header = GetConsumerConnectionListRequestHeader(group)
        command = RemotingCommand.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
        reply = await self.exchange(address, command, f"list the members of group {group}")
        return loads_json_object(reply.body, "the list of members") if reply.code == ResponseCode.SUCCESS else None

    async def _ask_name_server(self, asked: AdminQuestion[_T]) -> _T:
        """Return the answer of the first name server that answers: all know the same."""
        failures: list[RequestFailed] = []
        for address in self.name_server_addresses:
            try:
                reply = await self.request(address, asked.code, asked.header, asked.what)
            except RequestFailed as error:
                failures.append(error)
                continue
            return asked.read(reply)
        raise NameServerUnreachable("; ".join(map(str, failures))) from (failures[-1] if failures else None)

    async def _ask_brokers(self, code: RequestCode, header: CommandHeader, what: str) -> list[dict[str, Any]]:
        """Return the statistics of every broker that knows the topic or group."""
        answers = []
        for address in (await self.broker_addresses()).values():
            try:
                reply = await self.request(address, code, header, what)
            except MQBrokerError as error:
                if error.code in (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.CONSUMER_NOT_ONLINE):
                    continue
                raise
            answers.append(loads_json_object(reply.body, "statistics"))
        return answers


@asynccontextmanager
async def open_cluster_reader(name_servers: Sequence[str]) -> AsyncIterator[ClusterReader]:
    """Yield a reader with a client of its own, closed at the end."""
    access = cluster_access()
    runtime = LiveRuntime("glassmq-tool", None, client_tls=access.tls)
    client = RemotingClient(runtime, "glassmq-tool", request_hook=access.request_hook())
    try:
        yield ClusterReader(client, name_servers)
    finally:
        await client.shutdown()
        await runtime.close()


def queue_ends(body: dict[str, Any]) -> list[QueueEnds]:
    """Return the queues in the reply of code 202."""
    return [
        QueueEnds(queue, *(get_integer(value, name) for name in ("minOffset", "maxOffset", "lastUpdateTimestamp")))
        for queue, value in _object_keys(body, "offsetTable")
    ]


def progress_of(body: dict[str, Any]) -> list[GroupProgress]:
    """Return the progress in the reply of code 208."""
    found = []
    broadcasts = body.get("messageModel") == MessageModel.BROADCASTING
    for queue, value in _object_keys(body, "offsetTable"):
        ends = get_integer(value, "brokerOffset"), get_integer(value, "consumerOffset")
        found.append(GroupProgress(queue, *ends, get_boolean(value, "resetAwaited"), broadcasts))
    return found


def _object_keys(body: dict[str, Any], field: str) -> list[tuple[MessageQueue, dict[str, object]]]:
    """Return the pairs of a fastjson map whose keys are queues."""
    table = body.get(field)
    if isinstance(table, ObjectKeyMap):
        return [(MessageQueue.from_dict(key), as_object(value)) for key, value in table.pairs]
    if table:
        raise MalformedBody(f"{field} must map queues to offsets")
    return []
