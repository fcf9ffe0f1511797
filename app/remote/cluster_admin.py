"""Changes what a running cluster holds, over the wire as mqadmin does.

Works against GlassMQ and against a real RocketMQ 4.x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.foundation.operator_wishes import Place, ResetWish, WishRefused
from app.remote.cluster_reader import ClusterReader
from engine.client.foundation.errors import MQBrokerError
from engine.protocol.body import question
from engine.protocol.body.bodies import ResetOffsetBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.command_header import CommandHeader
from engine.protocol.command.headers import (
    CreateTopicRequestHeader,
    DeleteSubscriptionGroupRequestHeader,
    DeleteTopicRequestHeader,
    GetConsumerConnectionListRequestHeader,
    ResetOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.names import AUTO_CREATE_TOPIC_KEY_TOPIC, retry_topic
from engine.protocol.permission import PERM_READ_WRITE
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

    @property
    def again(self) -> int:
        """Messages that the group gets once more; negative: that it skips."""
        return 0 if self.old is None else self.old - self.new


@dataclass(frozen=True, slots=True)
class ResetPlan:
    """What a reset would mean.

    :ivar is_online: members are online and carry it out themselves.
    :ivar first_ms: when the oldest of the messages was stored that the group would get next; None: there is none.
    """

    resets: tuple[Reset, ...]
    is_online: bool
    first_ms: int | None


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

    async def create_topic(self, topic: str, queues: int) -> None:
        """Make ``topic`` with so many queues on every broker, or give it so many."""
        header = CreateTopicRequestHeader(
            topic, AUTO_CREATE_TOPIC_KEY_TOPIC, queues, queues, PERM_READ_WRITE, "SINGLE_TAG"
        )
        for address in (await self._reader.broker_addresses()).values():
            await self._ask(address, RequestCode.UPDATE_AND_CREATE_TOPIC, header, f"create topic {topic}")

    async def plan_reset(self, wish: ResetWish) -> ResetPlan:
        """What :meth:`reset_offset` would do. Raises :class:`WishRefused` too."""
        old = await self._progress(wish)
        resets: list[Reset] = []
        is_online = False
        first_ms: list[int] = []
        for name, address in (await self._reader.broker_addresses()).items():
            is_online = await self._has_members(address, wish.group) or is_online
            planned = await self._planned(wish, name, address, old)
            resets += planned
            for one in planned:
                first_ms += await self._stored_ms(address, one.queue, one.new)
        if is_online and wish.place is Place.OFFSET:
            raise WishRefused("online", group=wish.group)
        return ResetPlan(tuple(resets), is_online, min(first_ms, default=None))

    async def reset_offset(self, wish: ResetWish) -> tuple[list[Reset], bool]:
        """Let a group go on elsewhere, queue by queue. Raises :class:`WishRefused` too.

        Members that are online do it themselves, within 10 s: then the second value is True. Of a group that is not,
        the stored offsets are changed here.
        """
        old = await self._progress(wish)
        resets: list[Reset] = []
        is_online = False
        header = ResetOffsetRequestHeader(wish.topic, wish.group, _timestamp(wish), is_force=True)
        for name, address in (await self._reader.broker_addresses()).items():
            if not await self._has_members(address, wish.group):
                planned = await self._planned(wish, name, address, old)
                for one in planned:
                    note = question.store_group_offset(wish.group, one.queue, one.new)
                    await self._ask(address, note.code, note.header, f"store an offset of group {wish.group}")
                resets += planned
                continue
            if wish.place is Place.OFFSET:
                raise WishRefused("online", group=wish.group)
            is_online = True
            what = f"reset the offsets of group {wish.group} on {wish.topic}"
            reply = await self._ask(address, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header, what)
            table = ResetOffsetBody.from_json(reply.body).offset_table
            resets += [Reset(queue, old.get(queue), offset) for queue, offset in sorted(table.items())]
        return resets, is_online

    async def _progress(self, wish: ResetWish) -> dict[MessageQueue, int]:
        """Where the group stands. Raises :class:`WishRefused` where there is no such topic or group."""
        if not await self._reader.topic_queues(wish.topic):
            raise WishRefused("no_topic", topic=wish.topic)
        progress = await self._reader.group_progress(wish.group)
        if all(one.queue.topic != wish.topic for one in progress):
            raise WishRefused("no_group", group=wish.group, topic=wish.topic)
        return {one.queue: one.consumer_offset for one in progress}

    async def _has_members(self, address: str, group: str) -> bool:
        header = GetConsumerConnectionListRequestHeader(group)
        command = RemotingCommand.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
        reply = await self._reader.exchange(address, command, f"ask for the members of group {group}")
        return reply.code == ResponseCode.SUCCESS

    async def _planned(self, wish: ResetWish, broker: str, address: str, old: dict[MessageQueue, int]) -> list[Reset]:
        """The queues of one broker."""
        ends = [one for one in await self._reader.topic_queues(wish.topic) if one.queue.broker_name == broker]
        if wish.place is not Place.OFFSET:
            return [
                Reset(one.queue, old.get(one.queue), await self._offset_at(address, one.queue, _timestamp(wish)))
                for one in ends
            ]
        for one in ends:
            if one.queue.queue_id == wish.queue_id:
                if not one.min_offset <= wish.offset <= one.max_offset:
                    raise WishRefused("offset", offset=wish.offset, min=one.min_offset, max=one.max_offset)
                return [Reset(one.queue, old.get(one.queue), wish.offset)]
        raise WishRefused("no_queue", topic=wish.topic, id=wish.queue_id, most=len(ends) - 1)

    async def _stored_ms(self, address: str, queue: MessageQueue, offset: int) -> list[int]:
        """When the message of that offset was stored, if there is one. Not pulled: nobody gets it."""
        asked = question.place_of(queue, offset)
        reply = await self._reader.exchange(address, asked.request(), asked.what)
        place = asked.read(reply) if reply.code == ResponseCode.SUCCESS else None
        stored = b"" if place is None else await self._reader.look_for(address, question.message_at(place))
        return [decode_stored_message(stored).store_timestamp] if stored else []

    async def _offset_at(self, address: str, queue: MessageQueue, timestamp_ms: int) -> int:
        asked = question.max_offset(queue) if timestamp_ms == LATEST else question.offset_at(queue, timestamp_ms)
        return asked.read(await self._ask(address, asked.code, asked.header, f"find an offset of {queue.topic}"))

    async def _ask(self, address: str, code: RequestCode, header: CommandHeader | None, what: str) -> RemotingCommand:
        reply = await self._reader.exchange(address, RemotingCommand.request(code, header), what)
        if reply.code != ResponseCode.SUCCESS:
            raise MQBrokerError(reply.code, reply.remark, address, what)
        return reply


def _timestamp(wish: ResetWish) -> int:
    """As the request has it."""
    return {Place.EARLIEST: EARLIEST_MS, Place.LATEST: LATEST}.get(wish.place, wish.time_ms)
