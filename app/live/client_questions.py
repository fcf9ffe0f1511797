"""Requests the running info (307) of a consumer group's members while a page views it, and no more often than that.

Runs in the engine's thread and never waits there for long: a snapshot gives members a moment to answer and takes what
is known by then. Each member has one open request at most; a member that does not answer is asked less often.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from engine.broker.delivery.broker_to_client import V3_1_8_SNAPSHOT
from engine.protocol.command.headers import GetConsumerRunningInfoRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.names import SCHEDULE_TOPIC, retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError, RemotingTimeout
from engine.store.files.consume_queue_entry import FILLER_SIZE

if TYPE_CHECKING:
    from engine.broker.broker import Broker
    from engine.broker.tables.client_channel_info import ClientChannelInfo
    from engine.remoting.channel import Channel

#: Members of a group that are asked; groups whose answers are kept, those viewed last.
MEMBERS_MAX = 32
GROUPS_MAX = 8
#: Requests that are open at a time, of all groups.
OPEN_MAX = 16
ANSWER_TIMEOUT_MS = 3_000
ANSWER_MAX_BYTES = 256 * 1024
#: Seconds that a snapshot waits for the answers to the requests that it sends.
LOOK_WAITS_S = 0.4
#: Milliseconds between two requests to a member.
AGAIN_MS = 1_000
SILENT_AGAIN_MS = 10_000
#: Stored records that a snapshot reads: of each delay level, of the retry topic, and bytes of all of them.
RETRIES_READ_MAX = 32
RETRY_QUEUES_MAX = 4
RETRIES_BYTES_MAX = 2 * 1024 * 1024


class AnswerState(StrEnum):
    """The outcome of the last request."""

    #: No request has been answered yet.
    ASKED = "asked"
    TOLD = "told"
    SILENT = "silent"
    REFUSED = "refused"
    TOO_LONG = "too_long"
    #: The client is too old to know request 307, and is not asked.
    TOO_OLD = "too_old"


@dataclass(slots=True)
class Member:
    """A member and what is known of it; times by the broker's clock."""

    client: ClientChannelInfo
    outcome: AnswerState = AnswerState.ASKED
    asked_ms: int = 0
    #: The time of ``body``, which stays when a later request is not answered.
    answered_ms: int = 0
    body: bytes = b""
    remark: str = ""
    is_open: bool = False

    def is_due(self, now_ms: int) -> bool:
        """Return whether the member may be asked now."""
        again_ms = AGAIN_MS if self.outcome in (AnswerState.ASKED, AnswerState.TOLD) else SILENT_AGAIN_MS
        return not self.is_open and self.outcome is not AnswerState.TOO_OLD and abs(now_ms - self.asked_ms) >= again_ms


@dataclass(frozen=True, slots=True)
class StoredRetry:
    """A record that may be a retry: it waits until ``due_ms``, or (None) can be pulled."""

    record: bytes
    due_ms: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """A snapshot of a group. ``are_all_retries``: whether ``retries`` lists all pending retries."""

    now_ms: int
    members: list[Member]
    omitted_members: int
    retries: list[StoredRetry]
    are_all_retries: bool


class ClientQuestions:
    """The open requests of one broker, and the last answers."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._groups: dict[str, dict[Channel, Member]] = {}
        self._open: dict[asyncio.Task[None], None] = {}
        #: Group -> when its retries were read last, and what was found.
        self._read: dict[str, tuple[int, tuple[list[StoredRetry], bool]]] = {}

    async def look(self, group: str) -> Look:
        """Return the group as it is now; members that may be asked again are asked."""
        members, omitted = await self._ask_members(group)
        retries, are_all = self._retries(group, self._now_ms())
        return Look(self._now_ms(), [replace(member) for member in members], omitted, retries, are_all)

    async def ask_all(self, groups: Sequence[str]) -> list[list[Member]]:
        """Return the members of each group, asked as by :meth:`look`."""
        asked = await asyncio.gather(*(self._ask_members(group) for group in groups))
        return [[replace(member) for member in members] for members, _ in asked]

    async def _ask_members(self, group: str) -> tuple[list[Member], int]:
        members, omitted = self._members(group)
        now_ms = self._now_ms()
        due = sorted((member for member in members if member.is_due(now_ms)), key=lambda member: member.asked_ms)
        asked = [self._begin(member, group, now_ms) for member in due[: max(0, OPEN_MAX - len(self._open))]]
        if asked:
            await asyncio.wait(asked, timeout=LOOK_WAITS_S)
        return members, omitted

    def _now_ms(self) -> int:
        return self._broker.runtime.clock.now_ms()

    def _members(self, group: str) -> tuple[list[Member], int]:
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        channels = {} if info is None else info.channel_info_table
        shown = sorted(channels, key=lambda channel: channels[channel].client_id)[:MEMBERS_MAX]
        known = self._groups.pop(group, {})
        members = {channel: known.get(channel) or Member(channels[channel]) for channel in shown}
        for channel, member in members.items():
            member.client = channels[channel]
            if member.client.version < V3_1_8_SNAPSHOT:
                member.outcome = AnswerState.TOO_OLD
        if members:
            self._groups[group] = members
        while len(self._groups) > GROUPS_MAX:
            del self._groups[next(iter(self._groups))]
        return list(members.values()), len(channels) - len(shown)

    def _begin(self, member: Member, group: str, now_ms: int) -> asyncio.Task[None]:
        member.is_open, member.asked_ms = True, now_ms
        task = asyncio.create_task(self._ask(member, group))
        self._open[task] = None
        task.add_done_callback(self._open.pop)
        return task

    async def _ask(self, member: Member, group: str) -> None:
        header = GetConsumerRunningInfoRequestHeader(group, member.client.client_id, insides_enable=True)
        request = RemotingCommand.request(RequestCode.GET_CONSUMER_RUNNING_INFO, header)
        try:
            answer = await member.client.channel.call(request, ANSWER_TIMEOUT_MS)
        except RemotingTimeout:
            member.outcome = AnswerState.SILENT
        except RemotingError as error:
            member.outcome, member.remark = AnswerState.REFUSED, str(error)
        else:
            member.remark = answer.remark or ""
            if answer.code != ResponseCode.SUCCESS:
                member.outcome = AnswerState.REFUSED
            elif len(answer.body) > ANSWER_MAX_BYTES:
                member.outcome = AnswerState.TOO_LONG
            else:
                member.outcome, member.body, member.answered_ms = AnswerState.TOLD, answer.body, self._now_ms()
        finally:
            member.is_open = False

    # ------------------------------------------------------------------------------ retries

    def _retries(self, group: str, now_ms: int) -> tuple[list[StoredRetry], bool]:
        """Return the retries; they are read once a second at most, for all pages."""
        read_ms, found = self._read.pop(group, (0, ([], True)))
        if abs(now_ms - read_ms) >= AGAIN_MS:
            read_ms, found = now_ms, self._read_retries(group)
        self._read[group] = (read_ms, found)
        if len(self._read) > GROUPS_MAX:
            del self._read[next(iter(self._read))]
        return found

    def _read_retries(self, group: str) -> tuple[list[StoredRetry], bool]:
        """Return the records that may be delivered to the group again: the next due ones of the delay levels, and those
        of the retry topic after its offset.

        They include delayed messages of others: only decoding can tell them apart.
        """
        store, topic = self._broker.store, retry_topic(group)
        config = self._broker.topic_config_manager.topic_config_table.get(topic)
        if config is None:
            return [], True
        places = []
        for queue_id in range(min(config.read_queue_nums, RETRY_QUEUES_MAX)):
            offset = self._broker.consumer_offset_manager.query_offset(group, topic, queue_id)
            places.append((topic, queue_id, max(0, offset, store.min_offset(topic, queue_id))))
        reached = self._broker.schedule_message_service.offset_table
        for level in range(1, len(self._broker.store_config.delay_levels_ms)):
            first = store.min_offset(SCHEDULE_TOPIC, level - 1)
            places.append((SCHEDULE_TOPIC, level - 1, max(0, first, reached.get(level, 0))))
        found: list[StoredRetry] = []
        are_all, bytes_left = True, RETRIES_BYTES_MAX
        for name, queue_id, start in places:
            entries = store.consume_queue_entries(name, queue_id, start, RETRIES_READ_MAX)
            are_all = are_all and start + len(entries) >= store.max_offset(name, queue_id)
            for place, size, tags_code in entries:
                if size == FILLER_SIZE:
                    continue
                bytes_left -= size
                record = store.commit_log.read_record(place, size) if bytes_left >= 0 else None
                if record is not None:
                    # The tags code of a delayed message's entry is the time at which it is due.
                    found.append(StoredRetry(record, tags_code if name == SCHEDULE_TOPIC else None))
        return found, are_all and bytes_left >= 0

    async def close(self) -> None:
        """Stop asking."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
