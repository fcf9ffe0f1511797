"""Reads the messages of one remote broker for tools, with the requests that any client may send.

Works with GlassMQ and with a real RocketMQ 4.x.
"""

from __future__ import annotations

import time
from typing import TypeVar

from app.remote.cluster_reader import ClusterReader, GroupProgress, QueueEnds, progress_of, queue_ends
from engine.client.foundation.errors import MQBrokerError
from engine.protocol.body import question
from engine.protocol.body.bodies import KVTable, TopicConfigSerializeWrapper
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.question import AdminQuestion
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.command.command_header import CommandHeader
from engine.protocol.command.headers import (
    GetConsumeStatsRequestHeader,
    GetTopicStatsInfoRequestHeader,
    PullMessageResponseHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import MalformedBody, MalformedMessage
from engine.protocol.json_form.json_fields import as_object, get_integer
from engine.protocol.json_form.json_text import loads_json_object
from engine.protocol.json_form.properties_text import parse_properties
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_messages, decode_stored_message
from engine.protocol.message.message_id import place_of
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode

_Offset = TypeVar("_Offset", int, int | None)

PER_PULL = 32
#: RocketMQ's ``retryMaxTimes`` of a group that was not configured.
RETRY_MAX_TIMES = 16
_NOTHING_THERE = (ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY, ResponseCode.PULL_OFFSET_MOVED)


async def remote_brokers(reader: ClusterReader) -> dict[str, RemoteBroker]:
    """Return broker name -> broker, of all brokers of the cluster."""
    return {name: RemoteBroker(reader, address) for name, address in (await reader.broker_addresses()).items()}


class RemoteBroker:
    """The broker at ``address``. Every method raises an ``MQClientError`` when it does not answer.

    Bodies of messages are as they are stored (perhaps compressed).
    """

    def __init__(self, reader: ClusterReader, address: str) -> None:
        self._reader = reader
        self.address = address

    async def called(self, topic: str, name: str, limit: int) -> list[MessageExt]:
        """Return messages of ``topic`` with that unique id or key, at most ``limit``, oldest first."""
        stored = await self._reader.look_for(self.address, question.messages_called(topic, name, limit))
        found = [one for one in decode_messages(stored, decompress=False) if name in (one.unique_id, *one.keys)]
        return sorted(found, key=lambda message: message.commit_log_offset)

    async def record_at(self, commit_log_offset: int) -> bytes:
        """Return the record that begins at this commit-log offset, or nothing."""
        return await self._reader.look_for(self.address, question.message_at(commit_log_offset))

    async def message_at(self, commit_log_offset: int) -> MessageExt | None:
        """Return the message that begins at this commit-log offset, or None."""
        stored = await self.record_at(commit_log_offset)
        return decode_stored_message(stored) if stored else None

    async def message_with_id(self, offset_message_id: str) -> MessageExt | None:
        """Return the message with that offset message id; None where no message has it, or the text is not such an id.

        The record's own id decides: another broker's id leads to a record here too, and what a slave copied, or what
        the broker stored under a former address, has an id with another address than the broker's.
        """
        _, offset = place_of(offset_message_id)
        try:
            message = await self.message_at(offset) if offset >= 0 else None
        except MalformedMessage:  # RocketMQ's brokers return any bytes that begin there
            return None
        return message if message and message.offset_message_id == offset_message_id.upper() else None

    async def read(self, topic: str, queue_id: int, first: int, end: int) -> list[MessageExt]:
        """Return messages of one queue from ``first`` up to ``end``; some may be missing.

        Raises ``MQBrokerError`` when the broker refuses.
        """
        messages: list[MessageExt] = []
        queue = MessageQueue(topic, "", queue_id)
        while first < end:
            asked = question.look(queue, first, min(PER_PULL, end - first))
            reply = await self.exchange(asked.request(), asked.what)
            if reply.code in _NOTHING_THERE:
                # The oldest files may be gone, and with them the beginning: the broker reports the next offset.
                following = PullMessageResponseHeader.decode(reply.ext_fields).next_begin_offset
                if not first < following < end:
                    break
                first = following
                continue
            if reply.code != ResponseCode.SUCCESS:
                raise MQBrokerError(reply.code, reply.remark, self.address, asked.what)
            found = decode_messages(asked.read(reply), decompress=False)
            if not found:
                break
            messages += found
            first = found[-1].queue_offset + 1
        return messages

    async def end_offset(self, topic: str, queue_id: int) -> int:
        """Return the offset of the next message to come; 0 where the broker has no such topic."""
        asked = question.max_offset(MessageQueue(topic, "", queue_id))
        return await self.offset(asked, f"find the end of {topic}") or 0

    async def offset(self, asked: AdminQuestion[_Offset], what: str) -> _Offset | None:
        """Return an offset; None for any answer but SUCCESS: the broker has no such topic or group."""
        reply = await self.exchange(asked.request(), what)
        return asked.read(reply) if reply.code == ResponseCode.SUCCESS else None

    async def topics(self) -> list[str]:
        """Return all topics of the broker."""
        reply = await self._reader.request(self.address, RequestCode.GET_ALL_TOPIC_CONFIG, None, "list the topics")
        return list(TopicConfigSerializeWrapper.from_json(reply.body).topic_config_table)

    async def topic_queues(self, topic: str) -> list[QueueEnds]:
        """Return the broker's queues of ``topic``; none where it does not have the topic."""
        reply = await self.ask(RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfoRequestHeader(topic), "find queues")
        if reply.code != ResponseCode.SUCCESS:
            return []
        return sorted(queue_ends(loads_json_object(reply.body, "statistics")), key=lambda ends: ends.queue)

    async def group_progress(self, group: str) -> list[GroupProgress]:
        """Return the offsets of ``group`` in the broker's queues; none where it does not know the group."""
        header = GetConsumeStatsRequestHeader(consumer_group=group)
        reply = await self.ask(RequestCode.GET_CONSUME_STATS, header, f"describe group {group}")
        return progress_of(loads_json_object(reply.body, "statistics")) if reply.code == ResponseCode.SUCCESS else []

    async def can_write(self, topic: str, queue_id: int) -> bool:
        """Return whether messages can be sent to that queue."""
        return any(ends.queue.queue_id == queue_id for ends in await self.topic_queues(topic))

    async def place(self, queue: MessageQueue, offset: int) -> int | None:
        """Return the commit-log offset of a message; None where no message is."""
        return await self.offset(question.place_of(queue, offset), f"read the entries of {queue}")

    async def retry_max_times(self, group: str) -> int:
        """Return how often a message of ``group`` is delivered again; RocketMQ's default where that is not known."""
        reply = await self.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, None, "list the groups")
        body = loads_json_object(reply.body, "groups") if reply.code == ResponseCode.SUCCESS else {}
        table = as_object(body.get("subscriptionGroupTable", {}))
        return get_integer(as_object(table[group]), "retryMaxTimes") if group in table else RETRY_MAX_TIMES

    def now_ms(self) -> int:
        """Return the time with which messages are sent to the broker."""
        return time.time_ns() // 1_000_000

    async def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """Return the subscription of an online group to a topic."""
        members = await self._reader.members(self.address, group) or {}
        table = as_object(members.get("subscriptionTable", {}))
        return SubscriptionData.from_dict(table[topic]) if topic in table else None

    async def settings(self) -> dict[str, str]:
        """Return the settings of the broker; none where it does not report them."""
        reply = await self.ask(RequestCode.GET_BROKER_CONFIG, None, "report its settings")
        try:
            return parse_properties(reply.body) if reply.code == ResponseCode.SUCCESS else {}
        except MalformedBody:
            return {}

    async def setting(self, name: str) -> str | None:
        """Return a setting of the broker; None where it does not report it."""
        return (await self.settings()).get(name)

    async def runtime_info(self) -> dict[str, str]:
        """Return the runtime table. Raises ``MQBrokerError`` when the broker refuses."""
        code = RequestCode.GET_BROKER_RUNTIME_INFO
        reply = await self._reader.request(self.address, code, None, "report its state")
        return KVTable.from_json(reply.body).table

    async def has_index(self) -> bool:
        """Return False where the index, by which :meth:`called` finds messages, is off."""
        return await self.setting("messageIndexEnable") != "false"

    async def ask(self, code: RequestCode, header: CommandHeader | None, what: str) -> RemotingCommand:
        """Return the reply, whatever its code."""
        return await self.exchange(RemotingCommand.request(code, header), what)

    async def exchange(self, command: RemotingCommand, what: str) -> RemotingCommand:
        """Send a ready request, and return the reply, whatever its code."""
        return await self._reader.exchange(self.address, command, what)
