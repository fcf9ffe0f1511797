"""The processor that stores producers' messages (RocketMQ: ``SendMessageProcessor``, ``AbstractSendMessageProcessor``).

Checks, in RocketMQ's order, each with its reply code::

    broker writable, if the topic is ordered 16 | topic name legal 1 | topic may be sent to 16
    | topic known, or created from its template 17 | queue id 1

The reply contains the position of the message. Every reply has the ext fields MSG_REGION and TRACE_ON: the Java client
reads them unchecked.

A message to a retry topic (an orderly consumer that gives up, or a consumer whose send-back failed) goes to the group's
dead-letter topic if its retries are used up. A message with a delay level goes to SCHEDULE_TOPIC_XXXX first; so does
such a dead letter, whose sender sets a level: it arrives up to 2 h after its last try.

This is the hot path: one synchronous function from header to reply, lookups by dict, no object per message except the
header, the property dict and the :class:`StoreMessage`. Only SYNC_FLUSH makes a sender wait; and a new topic, until the
name servers know it.

A message with TRAN_MSG=true becomes a half message: see ``half_message`` and ``transactional_message_service``.

Simplified: no hooks, no generated message id for senders that give none.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable
from typing import Final

from engine.broker.delivery.batch_members import batch_members
from engine.broker.delivery.late_send_reply import LateSendReply
from engine.broker.delivery.schedule_message_service import ScheduleMessageService, delay_message, parse_delay_level
from engine.broker.delivery.send_message_checks import SendParts, choose_queue, decode_send_header
from engine.broker.foundation.broker_registration import BrokerRegistration
from engine.broker.foundation.errors import REPLY_CODES
from engine.broker.transactions.half_message import turn_into_half_message
from engine.broker.transactions.transactional_message_service import TransactionalMessageService
from engine.protocol.command.headers import SendMessageRequestHeader
from engine.protocol.command.remoting_command import RESPONSE_FLAG, RemotingCommand
from engine.protocol.errors import MalformedMessage
from engine.protocol.message.addresses import encode_host
from engine.protocol.message.batch_codec import decode_batch
from engine.protocol.message.message_properties import (
    PROPERTY_CLUSTER,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_MSG_REGION,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_TRACE_ON,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_WAIT_STORE_MSG_OK,
    decode_properties,
    encode_properties,
)
from engine.protocol.names import NOT_ALLOWED_SEND_TOPICS, RETRY_GROUP_TOPIC_PREFIX, dlq_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import BORN_HOST_V6, STORE_HOST_V6, TRANSACTION_MASK
from engine.remoting.channel import Channel
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import processes
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus
from engine.store.log.store_batch import StoreBatch
from engine.store.log.store_message import StoreMessage
from engine.store.queues.dispatch_request import dispatched_fields

#: Clients from this version on (``V3_4_9``) send how often a message may be retried.
MIN_VERSION_MAX_RECONSUME_TIMES: Final = 121
#: Bits that only the broker sets: a client's value would make the stored message unreadable.
_HOST_BITS: Final = BORN_HOST_V6 | STORE_HOST_V6

SendReply = RemotingCommand | Awaitable[RemotingCommand]


class SendMessageProcessor:
    """The processor of codes 10, 310 (one message) and 320 (a batch)."""

    def __init__(
        self,
        parts: SendParts,
        chance: random.Random,
        registration: BrokerRegistration,
        schedule: ScheduleMessageService,
        transactions: TransactionalMessageService,
    ) -> None:
        self._parts = parts
        self._random = chance
        self._schedule = schedule
        self._transactions = transactions
        self._config = config = parts.config
        self._address = parts.address
        self._stats = parts.stats
        self._store = parts.store
        self._put_message = parts.store.put_message
        self._record_put = parts.stats.record_put
        self._topic_table = parts.topics.table
        self._topics = self._topic_table.entries
        self._monotonic_us = parts.clock.monotonic_us
        self._late_reply = LateSendReply(parts, registration)
        self._waits = self._late_reply.is_sync_flush or parts.copies is not None
        #: The Java client reads them from every reply.
        trace_on = "true" if config.trace_on else "false"
        self._region = {PROPERTY_MSG_REGION: config.region_id, PROPERTY_TRACE_ON: trace_on}
        #: The properties of the last batch and their parsed form: a sender's batches have the same ones.
        self._last_batch_properties: tuple[str | None, bytes, bool] | None = None

    # ------------------------------------------------------------------------------ one message

    @processes(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
    def send_message(self, channel: Channel, request: RemotingCommand) -> SendReply:
        """Handle codes 10 and 310; also 320 and a 10 or 310 whose header says "batch"."""
        started_us = self._monotonic_us()
        header = decode_send_header(request)
        if header.batch or request.code == RequestCode.SEND_BATCH_MESSAGE:
            return self._send_batch(channel, request, header, started_us)
        config = self._topics.get(header.topic)
        is_new_topic = config is None
        try:
            if config is None or not self._parts.is_writable or header.topic in NOT_ALLOWED_SEND_TOPICS:
                config = self._parts.check_topic(header, channel.remote_address)
            queue_id = choose_queue(header, config, self._random)
            self._parts.admit(header.topic, 1)
            message = self._build_message(channel, request, header, queue_id)
        except RequestRefused as refusal:
            return self._refuse(request, refusal.code, refusal.remark)
        # A dead letter goes to another topic than the header's; a delayed one is answered with its real topic's queue.
        topic, queue_id = message.topic, message.queue_id
        if message.delay_level:
            delay_message(message)
        if message.is_prepared:
            turn_into_half_message(message)
            result = self._transactions.put_half(message)
        else:
            result = self._put_message(message)
        if result.status is not PutMessageStatus.PUT_OK:
            self._stats.put_failures += 1
            return self._refuse(request, REPLY_CODES[result.status], result.remark)
        latency_us = self._monotonic_us() - started_us
        self._record_put(topic, 1, result.size_bytes, latency_us, result.store_timestamp)
        reply = self._reply(request, queue_id, result)
        if message.is_prepared:
            reply.ext_fields["transactionId"] = message.unique_key
        must_save = bool(message.delay_level or message.is_prepared) and not self._topic_table.is_saved
        must_flush = self._waits and message.wait_store_ok
        if must_flush or must_save or is_new_topic:
            return self._late_reply.when_durable(
                reply, result, must_save=must_save, must_flush=must_flush, is_new_topic=is_new_topic
            )
        return reply

    def _build_message(
        self, channel: Channel, request: RemotingCommand, header: SendMessageRequestHeader, queue_id: int
    ) -> StoreMessage:
        properties = decode_properties(header.properties) if header.properties else {}
        is_prepared = self._check_transaction(header, properties)
        # WAIT is only for the send: leaving it out saves 10 bytes per stored message. RocketMQ keeps it in half
        # messages.
        wait = properties.get(PROPERTY_WAIT_STORE_MSG_OK, "true")
        if not is_prepared:
            properties.pop(PROPERTY_WAIT_STORE_MSG_OK, None)
        properties[PROPERTY_CLUSTER] = self._config.cluster_name
        tags_code, keys, unique_key = dispatched_fields(properties)
        message = StoreMessage(
            header.topic,
            queue_id,
            request.body,
            encode_properties(properties),
            header.born_timestamp,
            encode_host(channel.remote_address),
            self._address.store_host,
            header.flag,
            header.sys_flag & ~_HOST_BITS,
            tags_code,
            keys,
            unique_key,
            header.reconsume_times or 0,
            0,
            wait == "true" or wait.lower() == "true",
        )
        if PROPERTY_DELAY_TIME_LEVEL in properties:
            message.delay_level = self._delay_level(properties)
        if header.topic.startswith(RETRY_GROUP_TOPIC_PREFIX):
            self._handle_retry_and_dlq(request, header, message)
        message.is_prepared = is_prepared
        return message

    def _delay_level(self, properties: dict[str, str]) -> int:
        try:
            return parse_delay_level(properties, self._schedule.max_delay_level)
        except MalformedMessage as error:
            # RocketMQ fails with a NumberFormatException, which is answered like this.
            raise RequestRefused(str(error), ResponseCode.SYSTEM_ERROR) from error

    def _check_transaction(self, header: SendMessageRequestHeader, properties: dict[str, str]) -> bool:
        """Return whether this is a half message. Raises :class:`RequestRefused` if it cannot be one."""
        if properties.get(PROPERTY_TRANSACTION_PREPARED, "").lower() != "true":
            if header.sys_flag & TRANSACTION_MASK:
                raise RequestRefused("transaction bits in sysFlag without TRAN_MSG=true", ResponseCode.MESSAGE_ILLEGAL)
            return False
        if self._config.reject_transaction_message:
            raise RequestRefused(
                f"broker {self._config.broker_name} accepts no transactional messages (rejectTransactionMessage)",
                ResponseCode.NO_PERMISSION,
            )
        if properties.get(PROPERTY_DELAY_TIME_LEVEL, "0") != "0":
            raise RequestRefused(
                "a transactional message cannot be delayed: DELAY is set", ResponseCode.MESSAGE_ILLEGAL
            )
        if header.topic.startswith(RETRY_GROUP_TOPIC_PREFIX):
            raise RequestRefused(
                f"no transactional message to retry topic {header.topic}", ResponseCode.MESSAGE_ILLEGAL
            )
        if not properties.get(PROPERTY_PRODUCER_GROUP):
            raise RequestRefused(
                "a transactional message needs PGROUP: the group to ask for its outcome", ResponseCode.MESSAGE_ILLEGAL
            )
        busy = self._transactions.refusal
        if busy is not None:
            raise RequestRefused(busy, ResponseCode.SYSTEM_BUSY)
        return True

    def _handle_retry_and_dlq(
        self, request: RemotingCommand, header: SendMessageRequestHeader, message: StoreMessage
    ) -> None:
        """Redirect a message to a retry topic whose retries are used up to the dead-letter topic."""
        group = header.topic[len(RETRY_GROUP_TOPIC_PREFIX) :]
        group_config = self._parts.groups.find_subscription_group_config(group)
        if group_config is None:
            raise RequestRefused(
                f"group {group} of the retry topic does not exist", ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
            )
        max_reconsume_times = group_config.retry_max_times
        if request.version >= MIN_VERSION_MAX_RECONSUME_TIMES and header.max_reconsume_times is not None:
            max_reconsume_times = header.max_reconsume_times
        if message.reconsume_times >= max_reconsume_times:
            topic = dlq_topic(group)
            self._parts.topics.create_topic_in_send_message_back(topic, 1)
            # The delay level stays: a consumer that gives up requests one, as for a retry, and RocketMQ's broker
            # applies it even to a dead letter (observed on 4.9).
            message.topic = topic
            message.queue_id = 0

    # ------------------------------------------------------------------------------ a batch

    def _send_batch(
        self, channel: Channel, request: RemotingCommand, header: SendMessageRequestHeader, started_us: int
    ) -> SendReply:
        """Store a batch (code 320): every message of the body becomes an ordinary message, consecutively in one
        queue.
        """
        is_new_topic = header.topic not in self._topics
        try:
            config = self._parts.check_topic(header, channel.remote_address)
            queue_id = choose_queue(header, config, self._random)
            batch = self._build_batch(channel, request, header, queue_id)
            self._parts.admit(header.topic, len(batch.members))
        except RequestRefused as refusal:
            return self._refuse(request, refusal.code, refusal.remark)
        result = self._store.put_batch(batch)
        if result.status is not PutMessageStatus.PUT_OK:
            self._stats.put_failures += 1
            return self._refuse(request, REPLY_CODES[result.status], result.remark)
        latency_us = self._monotonic_us() - started_us
        self._record_put(header.topic, len(batch.members), result.size_bytes, latency_us, result.store_timestamp)
        reply = self._reply(request, queue_id, result)
        must_flush = self._waits and batch.wait_store_ok
        if must_flush or is_new_topic:
            return self._late_reply.when_durable(reply, result, must_flush=must_flush, is_new_topic=is_new_topic)
        return reply

    def _build_batch(
        self, channel: Channel, request: RemotingCommand, header: SendMessageRequestHeader, queue_id: int
    ) -> StoreBatch:
        if header.topic.startswith(RETRY_GROUP_TOPIC_PREFIX):
            raise RequestRefused(f"a batch cannot go to retry topic {header.topic}", ResponseCode.MESSAGE_ILLEGAL)
        known = self._last_batch_properties
        if known is None or header.properties != known[0] or header.sys_flag & TRANSACTION_MASK:
            known = (header.properties, *self._read_batch_properties(header))
            self._last_batch_properties = known
        _, tail, wait_store_ok = known
        try:
            batched = decode_batch(request.body)
            self._check_batch_size(len(request.body), len(batched), len(tail))
            members = batch_members(batched, tail)
        except MalformedMessage as error:
            raise RequestRefused(f"the batch cannot be read: {error}", ResponseCode.MESSAGE_ILLEGAL) from error
        return StoreBatch(
            header.topic,
            queue_id,
            members,
            header.born_timestamp,
            encode_host(channel.remote_address),
            self._address.store_host,
            header.sys_flag & ~_HOST_BITS,
            header.reconsume_times or 0,
            wait_store_ok,
        )

    def _read_batch_properties(self, header: SendMessageRequestHeader) -> tuple[bytes, bool]:
        """Return the properties that every message of the batch gets after its own, and whether the sender waits for
        the flush.

        Raises :class:`RequestRefused`.
        """
        common = decode_properties(header.properties) if header.properties else {}
        if self._check_transaction(header, common):
            raise RequestRefused("a batch cannot be transactional", ResponseCode.MESSAGE_ILLEGAL)
        if PROPERTY_DELAY_TIME_LEVEL in common:
            raise RequestRefused("a batch cannot be delayed", ResponseCode.MESSAGE_ILLEGAL)
        wait_store_ok = common.get(PROPERTY_WAIT_STORE_MSG_OK, "true").lower() == "true"
        common[PROPERTY_CLUSTER] = self._config.cluster_name
        return encode_properties(common).encode(), wait_store_ok

    def _check_batch_size(self, body_size: int, message_count: int, tail_size: int) -> None:
        """Check the size of a batch. Raises :class:`RequestRefused`.

        Every message gets a copy of the batch's properties, ``tail_size`` bytes: 90,000 tiny messages and a long
        property would take gigabytes before the store could refuse them.
        """
        allowed = self._store.config.max_message_size
        if body_size > allowed:
            raise RequestRefused(
                f"the batch takes {body_size} bytes; allowed: {allowed} (maxMessageSize of the broker); "
                "send it in parts",
                ResponseCode.MESSAGE_ILLEGAL,
            )
        if message_count * tail_size > self._store.commit_log.max_batch_size:
            raise RequestRefused(
                f"the {tail_size} bytes of the batch's properties, in each of its {message_count} messages, would take "
                f"more than {self._store.commit_log.max_batch_size} bytes",
                ResponseCode.MESSAGE_ILLEGAL,
            )

    # ------------------------------------------------------------------------------ replies

    def _reply(self, request: RemotingCommand, queue_id: int, result: PutMessageResult) -> RemotingCommand:
        return RemotingCommand(
            ResponseCode.SUCCESS,
            request.opaque,
            RESPONSE_FLAG,
            ext_fields={
                "msgId": result.offset_message_id,
                "queueId": str(queue_id),
                "queueOffset": str(result.queue_offset),
                **self._region,
            },
            serialize_type=request.serialize_type,
        )

    def _refuse(self, request: RemotingCommand, code: int, remark: str) -> RemotingCommand:
        reply = request.reply(code, remark)
        reply.ext_fields.update(self._region)
        return reply
