"""Reads the messages of one remote broker for tools, with the requests that any client may send.

Works with GlassMQ and with a real RocketMQ 4.x.
"""

from __future__ import annotations

from app.remote.cluster_reader import ClusterReader
from engine.client.foundation.errors import MQBrokerError
from engine.protocol.body import question
from engine.protocol.body.bodies import TopicConfigSerializeWrapper
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.question import AdminQuestion
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.command.command_header import CommandHeader
from engine.protocol.command.headers import GetConsumerConnectionListRequestHeader, PullMessageResponseHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_fields import as_object
from engine.protocol.json_form.json_text import loads_json_object
from engine.protocol.json_form.properties_text import parse_properties
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_messages, decode_stored_message
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode

PER_PULL = 32
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

    async def offset(self, asked: AdminQuestion[int], what: str) -> int | None:
        """Return an offset; None for any answer but SUCCESS: the broker has no such topic or group."""
        reply = await self.exchange(asked.request(), what)
        return asked.read(reply) if reply.code == ResponseCode.SUCCESS else None

    async def topics(self) -> list[str]:
        """Return all topics of the broker."""
        reply = await self.ask(RequestCode.GET_ALL_TOPIC_CONFIG, None, "list the topics")
        if reply.code != ResponseCode.SUCCESS:
            raise MQBrokerError(reply.code, reply.remark, self.address, "list the topics")
        return list(TopicConfigSerializeWrapper.from_json(reply.body).topic_config_table)

    async def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """Return the subscription of an online group to a topic."""
        header = GetConsumerConnectionListRequestHeader(group)
        reply = await self.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, header, f"list the members of group {group}")
        if reply.code != ResponseCode.SUCCESS:
            return None
        table = as_object(loads_json_object(reply.body, "the list of members").get("subscriptionTable", {}))
        return SubscriptionData.from_dict(table[topic]) if topic in table else None

    async def setting(self, name: str) -> str | None:
        """Return a setting of the broker; None where it does not report it."""
        reply = await self.ask(RequestCode.GET_BROKER_CONFIG, None, "report its settings")
        try:
            return parse_properties(reply.body).get(name) if reply.code == ResponseCode.SUCCESS else None
        except MalformedBody:
            return None

    async def has_index(self) -> bool:
        """Return False where the index, by which :meth:`called` finds messages, is off."""
        return await self.setting("messageIndexEnable") != "false"

    async def ask(self, code: RequestCode, header: CommandHeader | None, what: str) -> RemotingCommand:
        """Return the reply, whatever its code."""
        return await self.exchange(RemotingCommand.request(code, header), what)

    async def exchange(self, command: RemotingCommand, what: str) -> RemotingCommand:
        """Send a ready request, and return the reply, whatever its code."""
        return await self._reader.exchange(self.address, command, what)
