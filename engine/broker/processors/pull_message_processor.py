"""Answers pulls (RocketMQ: ``PullMessageProcessor``).

The checks run in RocketMQ's order, each with its own reply code::

    broker readable 16 | group known 26 | group may consume 16 | topic known 17 | topic readable 16 | queue id 1
    | subscription: known 24, broadcasting allowed 16, topic subscribed 24, recent enough 25
    | its expression, unless it is one of tags: compiles 23, known 27, recent enough 28, filtered by at all 1

Then the store is read, and its status decides::

    FOUND 0 | NO_MATCHED_MESSAGE, MESSAGE_WAS_REMOVING 20 | OFFSET_FOUND_NULL, OFFSET_OVERFLOW_ONE 19
    | OFFSET_OVERFLOW_BADLY, OFFSET_TOO_SMALL 21 | empty or missing queue: 19 at offset 0, else 21

19 with the suspend flag is not answered but parked (``pull_request_hold_service``). 25 is normal: after a rebalance a
pull may overtake the heartbeat with the new subscription version; the client tries again after 1 s.

Different from RocketMQ: a pull that brings an expression with it which cannot be compiled gets 23. There it passes for
a subscription to everything, unless the JVM checks assertions.

Simplified: no slave to suggest, messages are always copied to the heap.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import TYPE_CHECKING

from engine.broker.delivery.offset_moved_event import offset_moved_event
from engine.broker.delivery.pull_request_hold_service import PullRequest
from engine.broker.filters.consumer_filter_data import ConsumerFilterData
from engine.broker.filters.expression_compiler import CompilerBusy
from engine.broker.filters.expression_message_filter import message_filter_for, why_not_filtered_by
from engine.filter.errors import FilterSyntaxError
from engine.protocol.body.subscription_data import SubscriptionData, build_subscription_data
from engine.protocol.command.headers import PullMessageRequestHeader
from engine.protocol.command.remoting_command import ONEWAY_FLAG, RESPONSE_FLAG, RemotingCommand
from engine.protocol.enums import ExpressionType, MessageModel
from engine.protocol.errors import MalformedBody, ProtocolError
from engine.protocol.message.record_layout import store_timestamp_of
from engine.protocol.permission import is_readable
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import PULL_COMMIT_OFFSET, PULL_SUBSCRIPTION, PULL_SUSPEND
from engine.remoting.channel import Channel
from engine.store.reading.get_message_result import GetMessageResult, GetMessageStatus
from engine.store.reading.message_filter import MessageFilter

if TYPE_CHECKING:
    from engine.broker.broker import Broker

logger = logging.getLogger("glassmq.broker")

_CODES = {
    GetMessageStatus.FOUND: ResponseCode.SUCCESS,
    GetMessageStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetMessageStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetMessageStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    GetMessageStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    GetMessageStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    GetMessageStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
    GetMessageStatus.NO_MATCHED_LOGIC_QUEUE: ResponseCode.PULL_OFFSET_MOVED,
    GetMessageStatus.NO_MESSAGE_IN_QUEUE: ResponseCode.PULL_OFFSET_MOVED,
}
_EMPTY_QUEUE = (GetMessageStatus.NO_MATCHED_LOGIC_QUEUE, GetMessageStatus.NO_MESSAGE_IN_QUEUE)


class PullRefused(Exception):
    """A check failed; carries the reply's code and remark."""

    def __init__(self, code: ResponseCode, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


class PullMessageProcessor:
    """Code 11."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._config = broker.config
        self._clock = broker.runtime.clock

    def pull_message(self, channel: Channel, request: RemotingCommand) -> RemotingCommand | None:
        """Answer a pull, or park it (None)."""
        header = PullMessageRequestHeader.decode(request.ext_fields)
        return self._process(channel, request, header, allow_suspend=not request.flag & ONEWAY_FLAG)

    def execute_request_when_wakeup(self, pull: PullRequest) -> int:
        """Run a parked pull again and answer it now, whatever it finds; the length of the reply's body."""
        if not pull.channel.is_open:
            return 0
        try:
            reply = self._process(pull.channel, pull.request, pull.header, allow_suspend=False)
        except ProtocolError as error:
            reply = pull.request.reply(ResponseCode.SYSTEM_ERROR, str(error))
        except Exception as error:
            logger.exception("a parked pull of %s failed", pull.channel.remote_address)
            reply = pull.request.reply(ResponseCode.SYSTEM_ERROR, f"internal error: {type(error).__name__}: {error}")
        assert reply is not None, "it is not parked a second time"
        pull.channel.reply(reply)
        return len(reply.body)

    def _process(
        self, channel: Channel, request: RemotingCommand, header: PullMessageRequestHeader, *, allow_suspend: bool
    ) -> RemotingCommand | None:
        try:
            self._check_group_and_topic(header)
            subscription = self._find_subscription(header)
            filter_data = self._find_filter_data(header, subscription)
        except PullRefused as refusal:
            return request.reply(refusal.code, refusal.remark)
        self._note_puller(channel, header)
        if allow_suspend:
            self._commit_offset(channel, header)
        message_filter = message_filter_for(
            subscription,
            filter_data,
            self._broker.consumer_filter_manager,
            filter_support_retry=self._config.filter_support_retry,
        )
        started_us = self._clock.monotonic_us()
        result = self._broker.store.get_message(
            header.consumer_group,
            header.topic,
            header.queue_id,
            header.queue_offset,
            max(1, header.max_msg_nums),
            message_filter,
            header.max_msg_bytes,
        )
        self._broker.stats.record_get_latency(self._clock.monotonic_us() - started_us)
        if message_filter is not None:
            self._broker.filter_statistics.record(
                header.consumer_group, header.topic, result.message_count, result.kept_back_count
            )
        code = _CODES[result.status]
        if result.status in _EMPTY_QUEUE and header.queue_offset == 0:
            code = ResponseCode.PULL_NOT_FOUND
        reply: RemotingCommand | None = _reply(request, code, result)
        if code is ResponseCode.SUCCESS:
            self._count_found(header, result)
        else:
            self._broker.stats.record_pull_missed(self._clock.now_ms())
        if code is ResponseCode.PULL_NOT_FOUND and allow_suspend and header.sys_flag & PULL_SUSPEND:
            if self._suspend(channel, request, header, message_filter):
                reply = None
        elif code is ResponseCode.PULL_OFFSET_MOVED:
            self._offset_moved(header, result)
        return reply

    # ------------------------------------------------------------------------------ checks

    def _check_group_and_topic(self, header: PullMessageRequestHeader) -> None:
        group, topic = header.consumer_group, header.topic
        if not is_readable(self._config.broker_permission):
            raise PullRefused(ResponseCode.NO_PERMISSION, f"broker {self._config.broker_name} may not be read")
        group_config = self._broker.subscription_group_manager.find_subscription_group_config(group)
        if group_config is None:
            raise PullRefused(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"group {group} does not exist and may not be created by pulling",
            )
        if not group_config.consume_enable:
            raise PullRefused(ResponseCode.NO_PERMISSION, f"group {group} may not consume (consumeEnable=false)")
        topic_config = self._broker.topic_config_manager.topic_config_table.get(topic)
        if topic_config is None:
            raise PullRefused(ResponseCode.TOPIC_NOT_EXIST, f"topic {topic!r} does not exist on this broker")
        if not is_readable(topic_config.perm):
            raise PullRefused(ResponseCode.NO_PERMISSION, f"topic {topic} may not be read (perm {topic_config.perm})")
        if not 0 <= header.queue_id < topic_config.read_queue_nums:
            raise PullRefused(
                ResponseCode.SYSTEM_ERROR,
                f"queue id {header.queue_id} of topic {topic}; allowed: 0 to {topic_config.read_queue_nums - 1}",
            )

    def _find_subscription(self, header: PullMessageRequestHeader) -> SubscriptionData:
        if header.sys_flag & PULL_SUBSCRIPTION:
            return self._subscription_of_header(header)
        return self._subscription_of_group(header)

    def _find_filter_data(
        self, header: PullMessageRequestHeader, subscription: SubscriptionData
    ) -> ConsumerFilterData | None:
        """The expression that ``subscription`` filters by; None when it filters by tags."""
        if subscription.expression_type == ExpressionType.TAG:
            return None
        if header.sys_flag & PULL_SUBSCRIPTION:
            self._check_filtered_by(subscription)
            try:
                return self._broker.consumer_filter_manager.build(header.consumer_group, subscription)
            except FilterSyntaxError as error:
                raise PullRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from error
            except CompilerBusy as busy:
                raise PullRefused(ResponseCode.SYSTEM_BUSY, str(busy)) from busy
        data = self._filter_data_of_group(header, subscription)
        self._check_filtered_by(subscription)
        return data

    def _filter_data_of_group(
        self, header: PullMessageRequestHeader, subscription: SubscriptionData
    ) -> ConsumerFilterData:
        group, topic = header.consumer_group, header.topic
        data = self._broker.consumer_filter_manager.get(topic, group)
        if data is None:
            why = "the broker has no room for more expressions (maxConsumerFilters, maxConsumerFilterWords)"
            try:
                self._broker.expression_compiler.compile(subscription.sub_string)
            except (FilterSyntaxError, CompilerBusy) as error:
                why = str(error)
            raise PullRefused(
                ResponseCode.FILTER_DATA_NOT_EXIST, f"the expression of group {group} on {topic} is not in use: {why}"
            )
        if data.client_version < header.sub_version:
            raise PullRefused(
                ResponseCode.FILTER_DATA_NOT_LATEST,
                f"group {group} on {topic}: the pull knows version {header.sub_version} of the expression, the broker "
                f"has {data.client_version}",
            )
        return data

    def _check_filtered_by(self, subscription: SubscriptionData) -> None:
        refusal = why_not_filtered_by(self._config, subscription.expression_type)
        if refusal is not None:
            raise PullRefused(*refusal)

    def _subscription_of_header(self, header: PullMessageRequestHeader) -> SubscriptionData:
        try:
            return build_subscription_data(
                header.topic,
                header.subscription,
                expression_type=header.expression_type,
                sub_version=header.sub_version,
            )
        except MalformedBody as error:
            raise PullRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from error

    def _subscription_of_group(self, header: PullMessageRequestHeader) -> SubscriptionData:
        group, topic = header.consumer_group, header.topic
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        if info is None:
            raise PullRefused(
                ResponseCode.SUBSCRIPTION_NOT_EXIST, f"no member of group {group} has sent a heartbeat yet"
            )
        group_config = self._broker.subscription_group_manager.subscription_group_table[group]
        if not group_config.consume_broadcast_enable and info.message_model == MessageModel.BROADCASTING:
            raise PullRefused(
                ResponseCode.NO_PERMISSION, f"group {group} may not broadcast (consumeBroadcastEnable=false)"
            )
        subscription = info.subscription_table.get(topic)
        if subscription is None:
            raise PullRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"group {group} does not subscribe to {topic}")
        if subscription.sub_version < header.sub_version:
            raise PullRefused(
                ResponseCode.SUBSCRIPTION_NOT_LATEST,
                f"group {group} on {topic}: the pull knows subscription version {header.sub_version}, "
                f"the last heartbeat said {subscription.sub_version}",
            )
        return subscription

    # ------------------------------------------------------------------------------ effects

    def _note_puller(self, channel: Channel, header: PullMessageRequestHeader) -> None:
        """Remember who pulled the queue last: that is how observers learn the assignment."""
        info = self._broker.consumer_manager.get_consumer_group_info(header.consumer_group)
        if info is not None and channel in info.channel_info_table:
            info.last_pulled_by[header.topic, header.queue_id] = channel

    def _commit_offset(self, channel: Channel, header: PullMessageRequestHeader) -> None:
        """Store the progress that the pull carries; once, so not again when a parked pull wakes."""
        if header.sys_flag & PULL_COMMIT_OFFSET and header.commit_offset >= 0:
            self._broker.consumer_offset_manager.commit_offset(
                channel.remote_address,
                header.consumer_group,
                header.topic,
                header.queue_id,
                header.commit_offset,
            )

    def _suspend(
        self,
        channel: Channel,
        request: RemotingCommand,
        header: PullMessageRequestHeader,
        message_filter: MessageFilter | None,
    ) -> bool:
        config = self._config
        timeout_ms = header.suspend_timeout_millis if config.long_polling_enable else config.short_polling_time_mills
        # What it says stands in the header, once.
        asked = dataclasses.replace(request, ext_fields={}, body=b"")
        pull = PullRequest(
            channel, asked, header, message_filter, self._clock.now_ms(), timeout_ms, header.queue_offset
        )
        return self._broker.pull_request_hold_service.suspend_pull_request(pull)

    def _count_found(self, header: PullMessageRequestHeader, result: GetMessageResult) -> None:
        self._broker.stats.record_pull(
            header.topic,
            header.consumer_group,
            result.message_count,
            len(result.data),
            store_timestamp_of(result.data),
            self._clock.now_ms(),
        )

    def _offset_moved(self, header: PullMessageRequestHeader, result: GetMessageResult) -> None:
        logger.warning(
            "group %s asked for offset %d of %s queue %d, which holds %d to %d: it goes on at %d",
            header.consumer_group,
            header.queue_offset,
            header.topic,
            header.queue_id,
            result.min_offset,
            result.max_offset,
            result.next_begin_offset,
        )
        if self._config.offset_moved_event_enable:
            broker = self._broker
            broker.store.put_message(
                offset_moved_event(
                    header,
                    result.next_begin_offset,
                    self._config.broker_name,
                    broker.store_host,
                    self._clock.now_ms(),
                )
            )


def _reply(request: RemotingCommand, code: ResponseCode, result: GetMessageResult) -> RemotingCommand:
    """The four offset fields are always there: the Java client unboxes them without looking."""
    return RemotingCommand(
        code=code,
        opaque=request.opaque,
        flag=RESPONSE_FLAG,
        remark=result.status.name,
        ext_fields={
            "suggestWhichBrokerId": "0",
            "nextBeginOffset": str(result.next_begin_offset),
            "minOffset": str(result.min_offset),
            "maxOffset": str(result.max_offset),
        },
        body=result.data,
        serialize_type=request.serialize_type,
    )
