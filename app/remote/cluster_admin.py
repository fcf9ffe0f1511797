"""Changes what a running cluster holds, over the wire as mqadmin does.

Works against GlassMQ and against a real RocketMQ 4.x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.remote.cluster_reader import ClusterReader
from engine.client.foundation.errors import MQBrokerError
from engine.protocol.body import question
from engine.protocol.body.bodies import ResetOffsetBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.command_header import CommandHeader
from engine.protocol.command.headers import (
    DeleteSubscriptionGroupRequestHeader,
    DeleteTopicRequestHeader,
    GetConsumerConnectionListRequestHeader,
    ResetOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.names import retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode

#: Instead of a time: the oldest and the newest message.
EARLIEST_MS = 0
LATEST = -1


@dataclass(frozen=True, slots=True)
class Reset:
    """One queue: where its group stood and where it goes on. ``old`` is None where the broker did not tell."""

    queue: MessageQueue
    old: int | None
    new: int


class ClusterAdmin:
    """Deletes and resets through ``reader``'s connections. Every method raises an ``MQClientError`` when a server does
    not answer or refuses.
    """

    def __init__(self, reader: ClusterReader, name_servers: Sequence[str]) -> None:
        self._reader = reader
        self._name_servers = name_servers

    async def delete_topic(self, topic: str) -> None:
        """Delete ``topic`` on every broker, then its route on every name server."""
        header = DeleteTopicRequestHeader(topic)
        for address in (await self._reader.broker_addresses()).values():
            await self._ask(address, RequestCode.DELETE_TOPIC_IN_BROKER, header, f"delete topic {topic}")
        for address in self._name_servers:
            await self._ask(address, RequestCode.DELETE_TOPIC_IN_NAMESRV, header, f"delete the route of {topic}")

    async def delete_group(self, group: str) -> None:
        """Delete ``group`` with its offsets and its retry topic. Its dead letters stay."""
        header = DeleteSubscriptionGroupRequestHeader(group, remove_offset=True)
        for address in (await self._reader.broker_addresses()).values():
            await self._ask(address, RequestCode.DELETE_SUBSCRIPTIONGROUP, header, f"delete group {group}")
        await self.delete_topic(retry_topic(group))

    async def reset_offset(self, group: str, topic: str, timestamp_ms: int) -> tuple[list[Reset], bool]:
        """Let ``group`` go on at the messages of a time (:data:`EARLIEST_MS`, :data:`LATEST`), queue by queue.

        Members that are online do it themselves, within 10 s: then the second value is True. Of a group that is not,
        the stored offsets are changed here.
        """
        old = {one.queue: one.consumer_offset for one in await self._reader.group_progress(group)}
        resets: list[Reset] = []
        is_online = False
        header = ResetOffsetRequestHeader(topic, group, timestamp_ms, is_force=True)
        for name, address in (await self._reader.broker_addresses()).items():
            if not await self._has_members(address, group):
                resets += await self._reset_stored(group, topic, timestamp_ms, name, address, old)
                continue
            is_online = True
            what = f"reset the offsets of group {group} on {topic}"
            reply = await self._ask(address, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header, what)
            table = ResetOffsetBody.from_json(reply.body).offset_table
            resets += [Reset(queue, old.get(queue), offset) for queue, offset in sorted(table.items())]
        return resets, is_online

    async def _has_members(self, address: str, group: str) -> bool:
        header = GetConsumerConnectionListRequestHeader(group)
        command = RemotingCommand.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
        reply = await self._reader.exchange(address, command, f"ask for the members of group {group}")
        return reply.code == ResponseCode.SUCCESS

    async def _reset_stored(
        self, group: str, topic: str, timestamp_ms: int, broker: str, address: str, old: dict[MessageQueue, int]
    ) -> list[Reset]:
        resets = []
        for ends in await self._reader.topic_queues(topic):
            queue = ends.queue
            if queue.broker_name != broker:
                continue
            offset = await self._offset_at(address, queue, timestamp_ms)
            note = question.store_group_offset(group, queue, offset)
            await self._ask(address, note.code, note.header, f"store an offset of group {group}")
            resets.append(Reset(queue, old.get(queue), offset))
        return resets

    async def _offset_at(self, address: str, queue: MessageQueue, timestamp_ms: int) -> int:
        asked = question.max_offset(queue) if timestamp_ms == LATEST else question.offset_at(queue, timestamp_ms)
        return asked.read(await self._ask(address, asked.code, asked.header, f"find an offset of {queue.topic}"))

    async def _ask(self, address: str, code: RequestCode, header: CommandHeader | None, what: str) -> RemotingCommand:
        reply = await self._reader.exchange(address, RemotingCommand.request(code, header), what)
        if reply.code != ResponseCode.SUCCESS:
            raise MQBrokerError(reply.code, reply.remark, address, what)
        return reply
