"""Changes a running cluster over the wire, as mqadmin does.

Works with GlassMQ and with a real RocketMQ 4.x.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.foundation.operator_requests import OperationRefused, ResetOffsetRequest, ResetTarget
from app.remote.cluster_reader import ClusterReader
from engine.protocol.body import question
from engine.protocol.body.bodies import ResetOffsetBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import (
    CreateTopicRequestHeader,
    DeleteSubscriptionGroupRequestHeader,
    DeleteTopicRequestHeader,
    ResetOffsetRequestHeader,
)
from engine.protocol.enums import ConsumeType
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.names import AUTO_CREATE_TOPIC_KEY_TOPIC, retry_topic
from engine.protocol.permission import PERM_READ_WRITE
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode

#: Timestamps that stand for the oldest and the newest message.
EARLIEST_MS = 0
LATEST = -1
#: How often the stored offsets are read after a reset, and the pause between: 15 s in total, as members take 10 s for
#: it.
_LOOKS_MAX = 150
_LOOK_PAUSE_MS = 100


@dataclass(frozen=True, slots=True)
class Reset:
    """The reset of one queue: the old and the new offset of its group. ``old``: None where the broker did not report
    it.

    :ivar stored: what the broker had stored at the last reading after the reset; None before.
    :ivar is_stored: whether it had ``new``, or an offset that a group reaches from there.
    :ivar is_awaited: members are online and none has begun there yet.
    """

    queue: MessageQueue
    old: int | None
    new: int
    stored: int | None = None
    is_stored: bool = False
    is_awaited: bool = False

    @property
    def again(self) -> int:
        """Return the number of messages that the group gets again; negative: that it skips."""
        return 0 if self.old is None else self.old - self.new


@dataclass(frozen=True, slots=True)
class ResetPlan:
    """The planned effect of an offset reset.

    :ivar is_online: members are online and carry it out themselves.
    :ivar first_ms: store time of the oldest of the messages that the group would get next; None without one.
    """

    resets: tuple[Reset, ...]
    is_online: bool
    first_ms: int | None


class ClusterAdmin:
    """Deletes and resets through ``reader``'s connections.

    Every method raises an ``MQClientError`` when a server does not answer or refuses.
    """

    def __init__(self, reader: ClusterReader) -> None:
        self._reader = reader
        self._ask = reader.request

    async def delete_topic(self, topic: str) -> None:
        """Delete ``topic`` on every broker, then its route on every name server."""
        header = DeleteTopicRequestHeader(topic)
        for address in (await self._reader.broker_addresses()).values():
            await self._ask(address, RequestCode.DELETE_TOPIC_IN_BROKER, header, f"delete topic {topic}")
        for address in self._reader.name_server_addresses:
            await self._ask(address, RequestCode.DELETE_TOPIC_IN_NAMESRV, header, f"delete the route of {topic}")

    async def delete_group(self, group: str) -> None:
        """Delete ``group`` with its offsets and its retry topic. Its dead letters stay."""
        header = DeleteSubscriptionGroupRequestHeader(group, remove_offset=True)
        for address in (await self._reader.broker_addresses()).values():
            await self._ask(address, RequestCode.DELETE_SUBSCRIPTIONGROUP, header, f"delete group {group}")
        await self.delete_topic(retry_topic(group))

    async def create_topic(self, topic: str, queues: int) -> None:
        """Create ``topic`` with this number of queues on every broker, or change it to this number."""
        header = CreateTopicRequestHeader(
            topic, AUTO_CREATE_TOPIC_KEY_TOPIC, queues, queues, PERM_READ_WRITE, "SINGLE_TAG"
        )
        for address in (await self._reader.broker_addresses()).values():
            await self._ask(address, RequestCode.UPDATE_AND_CREATE_TOPIC, header, f"create topic {topic}")

    async def plan_reset(self, request: ResetOffsetRequest) -> ResetPlan:
        """Return what :meth:`reset_offset` would do. Raises :class:`OperationRefused` too."""
        old = await self._progress(request)
        resets: list[Reset] = []
        is_online = False
        first_ms: list[int] = []
        for name, address in (await self._reader.broker_addresses()).items():
            is_online = await self._has_members(address, request.group) or is_online
            planned = await self._planned(request, name, address, old)
            resets += planned
            for one in planned:
                first_ms += await self._stored_ms(address, one.queue, one.new)
        if is_online and request.place is ResetTarget.OFFSET:
            raise OperationRefused("online", group=request.group)
        return ResetPlan(tuple(resets), is_online, min(first_ms, default=None))

    async def reset_offset(self, request: ResetOffsetRequest, *, waits_for_members: bool = True) -> list[Reset]:
        """Reset a group's offsets queue by queue, and read back what is stored. Raises :class:`OperationRefused` too.

        Online members begin there themselves, within 10 s; this waits until they have, or for 15 s. For a group without
        online members, the stored offsets are changed here.
        """
        old = await self._progress(request)
        brokers = await self._reader.broker_addresses()
        online = {name: await self._has_members(address, request.group) for name, address in brokers.items()}
        if request.place is ResetTarget.OFFSET and any(online.values()):
            raise OperationRefused("online", group=request.group)
        resets: list[Reset] = []
        header = ResetOffsetRequestHeader(request.topic, request.group, _timestamp(request), is_force=True)
        for name, address in brokers.items():
            if not online[name]:
                planned = await self._planned(request, name, address, old)
                for one in planned:
                    note = question.store_group_offset(request.group, one.queue, one.new)
                    await self._ask(address, note.code, note.header, f"store an offset of group {request.group}")
                resets += planned
                continue
            what = f"reset the offsets of group {request.group} on {request.topic}"
            reply = await self._ask(address, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header, what)
            table = ResetOffsetBody.from_json(reply.body).offset_table
            for queue, offset in sorted(table.items()):
                # Before another broker is asked: members may go past the old offset meanwhile.
                stored = await self._stored(address, request.group, queue)
                resets.append(_looked_at(Reset(queue, old.get(queue), offset), stored, is_awaited=True))
        looks = _LOOKS_MAX if waits_for_members and any(online.values()) else 1
        return await self._verified(request, resets, brokers, looks)

    async def _verified(
        self, request: ResetOffsetRequest, resets: list[Reset], brokers: Mapping[str, str], looks: int
    ) -> list[Reset]:
        """Return ``resets`` with what is stored, once it is as expected, or after this number of readings."""
        for left in reversed(range(looks)):
            progress = {one.queue: one for one in await self._reader.group_progress(request.group)}
            resets = [
                _looked_at(
                    one,
                    await self._stored(brokers[one.queue.broker_name], request.group, one.queue),
                    is_awaited=one.queue in progress and progress[one.queue].is_reset_awaited,
                )
                for one in resets
            ]
            if all(one.is_stored and not one.is_awaited for one in resets):
                break
            await asyncio.sleep(_LOOK_PAUSE_MS / 1_000 if left else 0)
        return resets

    async def _stored(self, address: str, group: str, queue: MessageQueue) -> int | None:
        asked = question.group_offset(group, queue)
        reply = await self._reader.exchange(address, asked.request(), asked.what)
        return asked.read(reply) if reply.code == ResponseCode.SUCCESS else None

    async def _progress(self, request: ResetOffsetRequest) -> dict[MessageQueue, int]:
        """Return the offsets of the group: none, if its members stored none yet. Raises :class:`OperationRefused` when
        there is no such topic or group.
        """
        if not await self._reader.topic_queues(request.topic):
            raise OperationRefused("no_topic", topic=request.topic)
        progress = await self._reader.group_progress(request.group)
        if all(one.queue.topic != request.topic for one in progress):
            addresses = (await self._reader.broker_addresses()).values()
            if not any([await self._has_members(address, request.group) for address in addresses]):
                raise OperationRefused("no_group", group=request.group, topic=request.topic)
        return {one.queue: one.consumer_offset for one in progress}

    async def _has_members(self, address: str, group: str) -> bool:
        """Return whether members are online there.

        Raises :class:`OperationRefused` for members that would not learn of a reset.
        """
        members = await self._reader.members(address, group)
        if members is not None and members.get("consumeType") == ConsumeType.CONSUME_ACTIVELY:
            raise OperationRefused("pulls", group=group)
        return members is not None

    async def _planned(
        self, request: ResetOffsetRequest, broker: str, address: str, old: dict[MessageQueue, int]
    ) -> list[Reset]:
        """Return the resets of one broker's queues."""
        ends = [one for one in await self._reader.topic_queues(request.topic) if one.queue.broker_name == broker]
        if request.place is not ResetTarget.OFFSET:
            return [
                Reset(one.queue, old.get(one.queue), await self._offset_at(address, one.queue, _timestamp(request)))
                for one in ends
            ]
        for one in ends:
            if one.queue.queue_id == request.queue_id:
                if not one.min_offset <= request.offset <= one.max_offset:
                    raise OperationRefused("offset", offset=request.offset, min=one.min_offset, max=one.max_offset)
                return [Reset(one.queue, old.get(one.queue), request.offset)]
        raise OperationRefused("no_queue", topic=request.topic, id=request.queue_id, most=len(ends) - 1)

    async def _stored_ms(self, address: str, queue: MessageQueue, offset: int) -> list[int]:
        """Return when the message of that offset was stored, if there is one.

        It is not pulled, so that no group gets it.
        """
        asked = question.place_of(queue, offset)
        reply = await self._reader.exchange(address, asked.request(), asked.what)
        place = asked.read(reply) if reply.code == ResponseCode.SUCCESS else None
        stored = b"" if place is None else await self._reader.look_for(address, question.message_at(place))
        return [decode_stored_message(stored).store_timestamp] if stored else []

    async def _offset_at(self, address: str, queue: MessageQueue, timestamp_ms: int) -> int:
        asked = question.max_offset(queue) if timestamp_ms == LATEST else question.offset_at(queue, timestamp_ms)
        return asked.read(await self._ask(address, asked.code, asked.header, f"find an offset of {queue.topic}"))


def _looked_at(reset: Reset, stored: int | None, *, is_awaited: bool) -> Reset:
    """Return ``reset`` with what is stored of its queue now. Once it was there, the group may have gone on."""
    old, new = reset.old, reset.new
    if stored is None:
        is_there = False
    else:
        is_there = new <= stored < old if old is not None and new < old else stored >= new
    return replace(reset, stored=stored, is_stored=is_there or reset.is_stored, is_awaited=is_awaited)


def _timestamp(request: ResetOffsetRequest) -> int:
    """Return the timestamp for the request."""
    return {ResetTarget.EARLIEST: EARLIEST_MS, ResetTarget.LATEST: LATEST}.get(request.place, request.time_ms)
