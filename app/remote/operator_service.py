"""Carries out an operator's requests to the live broker: topics, messages, offsets. In the engine's thread.

:class:`app.remote.cluster_admin.ClusterAdmin` does the work, as on the command line. It reaches the broker and the name
server of this process without a connection, with the rights of their operator: neither access rules nor TLS apply.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.foundation.operator_requests import (
    OperationRefused,
    OperatorRequest,
    ResendRequest,
    ResetOffsetRequest,
    SendMessageRequest,
    TopicRequest,
)
from app.observation.bounds import TOPICS_MAX
from app.observation.record_view import message_summary
from app.observation.transactions_view import half_message_names
from app.observation.unix_time import unix_us
from app.remote.cluster_admin import ClusterAdmin, Reset
from app.remote.cluster_reader import ClusterReader
from app.remote.dead_letters_view import group_view, remote_dead_letter_view, report_view
from app.remote.messages_by_time import MessagesByTime, spans_before
from app.remote.own_broker import OwnBroker, OwnServers
from app.remote.remote_dead_letters import RemoteDeadLetters
from app.remote.remote_half_messages import RemoteHalfMessages
from app.remote.remote_trail import messages_called, remote_trail
from engine.client.foundation.errors import MQBrokerError, MQClientError
from engine.client.producer.default_mq_producer import make_unique_id_generator
from engine.protocol.command.headers import SendMessageRequestHeader, SendMessageResponseHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message import Message, MessageExt
from engine.protocol.message.message_properties import PROPERTY_UNIQUE_KEY, encode_properties
from engine.protocol.names import AUTO_CREATE_TOPIC_KEY_TOPIC
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import STORED_CODES

if TYPE_CHECKING:
    from app.picture.dead_letter import DeadLetter, DeadLetterGroup, DeadLetterPage, ResendReport
    from app.picture.half_message import DecidedByHand
    from app.picture.live.operator import CreatedTopic, OffsetReset, OperatorAnswer, ResetQueue, SentMessage
    from app.picture.message_life import StoredMessageLife
    from app.picture.record import MessagePage, RecordSummary
    from engine.broker.broker import Broker
    from engine.broker.transactions.half_message_lookup import HalfMessageAction
    from engine.name_server.name_server import NameServer

logger = logging.getLogger("glassmq.host")

#: The producer group of the page, and the number of queues of a topic that its first message creates.
PRODUCER_GROUP = "glassmq_page"
_NEW_TOPIC_QUEUES = 4
#: Topics in which one request searches.
_TOPICS_SEARCHED_MAX = 5 * TOPICS_MAX


class OperatorService:
    """Carries out requests. Raises :class:`OperationRefused` where something cannot be done."""

    def __init__(self, broker: Broker, name_server: NameServer) -> None:
        self._broker = broker
        self._client = OwnServers(broker.runtime, lambda: (broker, name_server))
        self._reader = ClusterReader(self._client, (name_server.address,))
        self._admin = ClusterAdmin(self._reader)
        self._own = OwnBroker(self._reader, broker)
        self._unique_ids = make_unique_id_generator(broker.runtime)

    async def carry_out(self, request: OperatorRequest) -> OperatorAnswer:
        """Carry out a request, and return its outcome."""
        try:
            match request:
                case TopicRequest():
                    return await self._create_topic(request)
                case SendMessageRequest():
                    return await self._send(request)
                case ResetOffsetRequest():
                    return await self._reset(request)
        except MQClientError as error:
            why = error.remark if isinstance(error, MQBrokerError) and error.remark else str(error)
            raise OperationRefused("by_broker", why=why) from error

    async def act_on_half_message(self, action: HalfMessageAction, name: str, *, anyway: bool = False) -> DecidedByHand:
        """Commit, roll back or resume the message with that unique id, key or offset message id, and return it.

        Raises ``HalfMessageRefused``.

        :param anyway: even if it is decided already.
        """
        half_messages = RemoteHalfMessages(self._own)
        message = (await half_messages.lookup(name)).message_for(action, name, anyway=anyway)
        await half_messages.act(action, message)
        view = half_message_names(message)
        logger.warning("half message %s of group %s, by hand: %s", message.message_id, view["group"], action)
        return {
            "id": view["id"],
            "key": view["key"],
            "topic": view["topic"],
            "queue_id": view["queue_id"],
            "group": view["group"],
        }

    # --- messages -----------------------------------------------------------------------------------------------------

    async def _topics(self) -> list[str]:
        return (await self._own.topics())[:_TOPICS_SEARCHED_MAX]

    async def by_key(self, topic: str, key: str, limit: int) -> list[RecordSummary]:
        """Return messages of ``topic`` that have ``key`` among their keys or as their unique id, newest first."""
        return [message_summary(message) for message in reversed(await self._own.called(topic, key, limit))]

    async def by_unique_id(self, unique_id: str, topic: str | None, limit: int) -> list[RecordSummary]:
        """Return messages with the client-made id, newest first; without ``topic``, from the first topics that the
        broker has.

        The same id may occur twice: a producer that retries sends it again.
        """
        found: list[MessageExt] = []
        for name in await self._topics() if topic is None else [topic]:
            called = await self._own.called(name, unique_id, limit)
            found += [message for message in called if message.unique_id == unique_id]
            if len(found) >= limit:
                break
            await asyncio.sleep(0)  # let the broker's clients run
        found.sort(key=lambda message: message.commit_log_offset)
        return [message_summary(message) for message in found[: -limit - 1 : -1]]

    async def by_offset_id(self, offset_message_id: str) -> list[RecordSummary]:
        """Return the message with the id that the broker made, if it is stored here."""
        message = await self._own.message_with_id(offset_message_id)
        return [] if message is None else [message_summary(message)]

    async def by_time(
        self, topic: str, queue_id: int | None, span_ms: tuple[int, int], before: Sequence[str] | None, count: int
    ) -> MessagePage | None:
        """Return messages stored from ``span_ms[0]`` to ``span_ms[1]``, the newest first; None when there is no such
        topic or queue.

        :param before: that of the page before this one; None: this is the first.
        """
        search = MessagesByTime({self._broker.config.broker_name: self._own}, topic)
        spans, omitted = await search.spans(*span_ms, queue_id)
        if not spans:
            return None
        in_span = sum(span.end - span.first for span in spans)
        if before is not None:
            spans = spans_before(spans, before)
        page, left = await search.page(spans, count)
        return {
            "messages": [message_summary(message) for message in page],
            "count": in_span,
            "before": [f"{span.queue_id}:{span.end}" for span in left] or None,
            "omitted_queues": omitted,
        }

    async def record_at(self, offset: int) -> bytes | None:
        """Return the stored bytes of the record that starts at commit-log ``offset``; None where none starts."""
        return await self._own.record_at(offset) or None

    def queue_entries(self, topic: str, queue_id: int, start: int, count: int) -> list[tuple[int, int, int]] | None:
        """Return at most ``count`` consume-queue entries (commit-log offset, size, tags code) from ``start`` on; None
        when there is no such queue.
        """
        config = self._broker.topic_config_manager.select_topic_config(topic)
        entries = self._broker.store.consume_queue_entries(topic, queue_id, start, count)
        if config is None or queue_id >= config.queue_nums:
            return entries or None
        return entries

    async def trails(self, name: str, topic: str | None) -> list[StoredMessageLife]:
        """Return the lives of the messages with that unique id, offset message id or key, the newest one first.

        :param topic: where to search for the name; None means everywhere.
        """
        brokers, topics = {self._broker.config.broker_name: self._own}, await self._topics()
        found = await messages_called(brokers, topics if topic is None else [topic], name)
        return [await remote_trail(brokers, topics, message) for message in reversed(found)]

    # --- dead letters: the JSON is that of app.picture.dead_letter ----------------------------------------------------

    async def dead_letter_groups(self) -> list[DeadLetterGroup]:
        """Return all groups that have or had dead letters, those with the newest ones first."""
        groups = await RemoteDeadLetters(self._own).groups()
        return [group_view(group) for group in sorted(groups, key=lambda group: (-group.newest_ms, group.group))]

    async def dead_letters(self, group: str, start: int | None, count: int) -> DeadLetterPage | None:
        """Return ``group`` and ``messages`` from number ``start`` on (None: the newest ones); None when there is no
        such group.
        """
        dead_letters = RemoteDeadLetters(self._own)
        found = await dead_letters.of_group(group)
        if not found.queues:
            return None
        first = max(found.min_number, found.max_number - count if start is None else start)
        messages: list[DeadLetter] = []
        for dead in await dead_letters.page(found, first, count):
            messages.append(await remote_dead_letter_view(dead_letters, group, dead))
            await asyncio.sleep(0)  # let the broker's clients run
        return {"group": group_view(found), "start": first, "messages": messages}

    async def resend_dead_letters(self, group: str, request: ResendRequest) -> ResendReport | None:
        """Resend dead letters, and return what became of each; None when there is no such group."""
        dead_letters = RemoteDeadLetters(self._own)
        found = await dead_letters.of_group(group)
        if not found.queues:
            return None
        if request.names is None:
            report = await dead_letters.resend_from(found, request.start, request.to)
        else:
            report = await dead_letters.resend_named(group, request.names, request.to, anyway=request.anyway)
        for one in report.resent:
            logger.warning("dead letter %s of group %s, resent by hand to %s", one.dead.message_id, group, one.topic)
        return report_view(report)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.shutdown()

    async def _create_topic(self, request: TopicRequest) -> CreatedTopic:
        if request.topic in self._broker.topic_config_manager.topic_config_table:
            raise OperationRefused("topic_exists", topic=request.topic)
        await self._admin.create_topic(request.topic, request.queues)
        logger.warning("topic %s was created by hand with %d queues", request.topic, request.queues)
        return {"topic": request.topic, "queues": request.queues}

    async def _send(self, request: SendMessageRequest) -> SentMessage:
        message = Message(
            request.topic, request.body.encode("utf-8"), request.tag, request.keys, delay_level=request.delay_level
        )
        message.properties[PROPERTY_UNIQUE_KEY] = unique_id = self._unique_ids.next()
        header = SendMessageRequestHeader(
            producer_group=PRODUCER_GROUP,
            topic=request.topic,
            default_topic=AUTO_CREATE_TOPIC_KEY_TOPIC,
            default_topic_queue_nums=_NEW_TOPIC_QUEUES,
            queue_id=-1,
            sys_flag=0,
            born_timestamp=self._broker.runtime.clock.now_ms(),
            flag=0,
            properties=encode_properties(message.properties),
            reconsume_times=0,
        )
        command = RemotingCommand.request(RequestCode.SEND_MESSAGE, header, message.body)
        reply = await self._client.call(self._broker.address, command, 0)
        if reply.code not in STORED_CODES:
            raise OperationRefused("by_broker", why=reply.remark or f"code {reply.code}")
        stored = SendMessageResponseHeader.decode(reply.ext_fields)
        return {
            "topic": request.topic,
            "queue_id": stored.queue_id,
            "queue_offset": stored.queue_offset,
            "id": unique_id,
        }

    async def _reset(self, request: ResetOffsetRequest) -> OffsetReset:
        plan = await self._admin.plan_reset(request)
        resets: Sequence[Reset] = plan.resets
        if not request.preview:
            resets = await self._admin.reset_offset(request, waits_for_members=False)
            others = [str(one.queue.queue_id) for one in resets if not one.is_stored]
            if others:
                raise OperationRefused("not_stored", group=request.group, topic=request.topic, queues=", ".join(others))
            logger.warning(
                "offsets of group %s on %s were reset by hand: %s", request.group, request.topic, request.place
            )
        return {
            "again": sum(max(0, one.again) for one in plan.resets),
            "skipped": sum(max(0, -one.again) for one in plan.resets),
            "is_online": plan.is_online,
            "first_us": None if plan.first_ms is None else unix_us(plan.first_ms),
            "queues": [_reset_view(one) for one in resets],
        }


def _reset_view(reset: Reset) -> ResetQueue:
    return {"queue_id": reset.queue.queue_id, "old": reset.old, "new": reset.new, "stored": reset.stored}
