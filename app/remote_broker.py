"""What tools ask one broker elsewhere about its messages, with the requests that any client may send.

Works against GlassMQ and against a real RocketMQ 4.x.
"""

from __future__ import annotations

from app.cluster_reader import ClusterReader
from engine.client.errors import MQBrokerError
from engine.protocol.command_header import CommandHeader
from engine.protocol.headers import (
    OffsetResponseHeader,
    PullMessageRequestHeader,
    PullMessageResponseHeader,
    QueryMessageRequestHeader,
    QueueRequestHeader,
    ViewMessageRequestHeader,
)
from engine.protocol.message import MessageExt
from engine.protocol.message_codec import decode_messages, decode_stored_message
from engine.protocol.names import TOOLS_CONSUMER_GROUP
from engine.protocol.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import pull_system_flag

PER_PULL = 32
_NOTHING_THERE = (ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY, ResponseCode.PULL_OFFSET_MOVED)
_END_OF_TIME_MS = 2**63 - 1


class RemoteBroker:
    """The one at ``address``. Every method raises an ``MQClientError`` when it does not answer.

    Bodies of messages are as they are stored (perhaps compressed).
    """

    def __init__(self, reader: ClusterReader, address: str) -> None:
        self._reader = reader
        self.address = address

    async def called(self, topic: str, name: str, limit: int) -> list[MessageExt]:
        """Messages of ``topic`` with that unique id or key, at most ``limit``, oldest first."""
        header = QueryMessageRequestHeader(
            topic=topic, key=name, max_num=limit, begin_timestamp=0, end_timestamp=_END_OF_TIME_MS
        )
        reply = await self.ask(RequestCode.QUERY_MESSAGE, header, f"search {topic}")
        if reply.code != ResponseCode.SUCCESS:
            return []
        found = [one for one in decode_messages(reply.body, decompress=False) if name in (one.unique_id, *one.keys)]
        return sorted(found, key=lambda message: message.commit_log_offset)

    async def message_at(self, commit_log_offset: int) -> MessageExt | None:
        """The message that begins there, or None."""
        header = ViewMessageRequestHeader(offset=commit_log_offset)
        reply = await self.ask(RequestCode.VIEW_MESSAGE_BY_ID, header, "view a message")
        return decode_stored_message(reply.body) if reply.code == ResponseCode.SUCCESS else None

    async def read(self, topic: str, queue_id: int, first: int, end: int) -> list[MessageExt]:
        """Messages of one queue from ``first`` up to ``end``; some may be missing.

        Raises ``MQBrokerError`` when the broker refuses.
        """
        messages: list[MessageExt] = []
        while first < end:
            header = PullMessageRequestHeader(
                consumer_group=TOOLS_CONSUMER_GROUP,
                topic=topic,
                queue_id=queue_id,
                queue_offset=first,
                max_msg_nums=min(PER_PULL, end - first),
                sys_flag=pull_system_flag(commit_offset=False, suspend=False, subscription=True),
                commit_offset=0,
                suspend_timeout_millis=0,
                subscription="*",
            )
            reply = await self.ask(RequestCode.PULL_MESSAGE, header, f"read {topic}")
            if reply.code in _NOTHING_THERE:
                # The oldest files may be gone, and with them the beginning: the broker says where it goes on.
                following = PullMessageResponseHeader.decode(reply.ext_fields).next_begin_offset
                if not first < following < end:
                    break
                first = following
                continue
            if reply.code != ResponseCode.SUCCESS:
                raise MQBrokerError(reply.code, reply.remark, self.address, f"read {topic}")
            found = decode_messages(reply.body, decompress=False)
            if not found:
                break
            messages += found
            first = found[-1].queue_offset + 1
        return messages

    async def end_offset(self, topic: str, queue_id: int) -> int:
        """Of the next message to come; 0 where the broker has no such topic."""
        header = QueueRequestHeader(topic, queue_id)
        return offset_in(await self.ask(RequestCode.GET_MAX_OFFSET, header, f"ask for the end of {topic}"))

    async def ask(self, code: RequestCode, header: CommandHeader | None, what: str) -> RemotingCommand:
        """The reply, whatever its code."""
        return await self.exchange(RemotingCommand.request(code, header), what)

    async def exchange(self, command: RemotingCommand, what: str) -> RemotingCommand:
        """The same for a request that is made already."""
        return await self._reader.exchange(self.address, command, what)


def offset_in(reply: RemotingCommand) -> int:
    """The offset in ``reply``; 0 where the broker has no such topic or group."""
    return OffsetResponseHeader.decode(reply.ext_fields).offset if reply.code == ResponseCode.SUCCESS else 0
