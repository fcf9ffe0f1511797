"""The processor of pulls (RocketMQ: ``PullMessageProcessor``).

After the checks (``pull_message_checks``) the store is read, and its status decides::

    FOUND 0 | NO_MATCHED_MESSAGE, MESSAGE_WAS_REMOVING 20 | OFFSET_FOUND_NULL, OFFSET_OVERFLOW_ONE 19
    | OFFSET_OVERFLOW_BADLY, OFFSET_TOO_SMALL 21 | empty or missing queue: 19 at offset 0, else 21

19 with the suspend flag is not answered but parked (``pull_request_hold_service``).

With ``slaveReadEnable`` a consumer that lags far behind is redirected to a slave, and back when it has caught up.

Simplified: messages are always copied to the heap.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from engine.broker.delivery.offset_moved_event import offset_moved_event
from engine.broker.delivery.pull_message_checks import PullMessageChecks
from engine.broker.delivery.pull_request_hold_service import HeldPullRequest, PullRequestHoldService
from engine.broker.filters.filter_statistics import FilterStatistics
from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.broker_stats_manager import BrokerStatsManager
from engine.broker.foundation.store_lookups import is_in_memory
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.protocol.body.topic_route_data import MASTER_ID
from engine.protocol.command.headers import PullMessageRequestHeader
from engine.protocol.command.remoting_command import ONEWAY_FLAG, RESPONSE_FLAG, RemotingCommand
from engine.protocol.message.record_layout import store_timestamp_of
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import PULL_COMMIT_OFFSET, PULL_SUSPEND
from engine.remoting.channel import Channel
from engine.remoting.processor import processes
from engine.replication.ha.ha_config import HaRole
from engine.runtime.port import Clock
from engine.store.message_store import MessageStore
from engine.store.reading.get_message_result import GetMessageResult, GetMessageStatus
from engine.store.reading.message_filter import MessageFilter

logger = logging.getLogger("glassmq.broker")

_CODES: Final = {
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
_EMPTY_QUEUE: Final = (GetMessageStatus.NO_MATCHED_LOGIC_QUEUE, GetMessageStatus.NO_MESSAGE_IN_QUEUE)


@dataclass(frozen=True)
class PullMessageProcessor:
    """The processor of code 11."""

    checks: PullMessageChecks
    config: BrokerConfig
    address: BrokerAddress
    clock: Clock
    store: MessageStore
    offsets: ConsumerOffsetManager
    consumers: ConsumerManager
    held_pulls: PullRequestHoldService
    stats: BrokerStatsManager
    filter_statistics: FilterStatistics

    @processes(RequestCode.PULL_MESSAGE)
    def pull_message(self, channel: Channel, request: RemotingCommand) -> RemotingCommand | None:
        """Return the reply to a pull, or None if the pull is parked."""
        header = PullMessageRequestHeader.decode(request.ext_fields)
        return self._process(channel, request, header, allow_suspend=not request.flag & ONEWAY_FLAG)

    def execute_request_when_wakeup(self, pull: HeldPullRequest) -> int:
        """Run a parked pull again and answer it now, whatever it finds; return the length of the reply's body."""
        if not pull.channel.is_open:
            return 0
        try:
            reply = self._process(pull.channel, pull.request, pull.header, allow_suspend=False)
        except Exception as error:
            reply = pull.channel.answer_to_failure(pull.request, error)
        assert reply is not None, "it is not parked a second time"
        pull.channel.send_command(reply)
        return len(reply.body)

    def _process(
        self, channel: Channel, request: RemotingCommand, header: PullMessageRequestHeader, *, allow_suspend: bool
    ) -> RemotingCommand | None:
        message_filter = self.checks.filter_of(header, channel.remote_address)
        self._note_puller(channel, header)
        if allow_suspend:
            self._commit_offset(channel, header)
        started_us = self.clock.monotonic_us()
        result = self.store.get_message(
            header.consumer_group,
            header.topic,
            header.queue_id,
            header.queue_offset,
            max(1, header.max_msg_nums),
            message_filter,
            header.max_msg_bytes,
        )
        self.stats.record_get_latency(self.clock.monotonic_us() - started_us)
        if self.offsets.resets:
            self.offsets.resets.note_pull(
                header.consumer_group, header.topic, header.queue_id, header.queue_offset, result.next_begin_offset
            )
        if message_filter is not None:
            self.filter_statistics.record(
                header.consumer_group, header.topic, result.message_count, result.kept_back_count
            )
        code = _CODES[result.status]
        if result.status in _EMPTY_QUEUE and header.queue_offset == 0:
            code = ResponseCode.PULL_NOT_FOUND
        reply: RemotingCommand | None = _reply(request, code, result, self._suggestion(header, result))
        if code is ResponseCode.SUCCESS:
            self._count_found(header, result)
        else:
            self.stats.record_pull_missed(self.clock.now_ms())
        if code is ResponseCode.PULL_NOT_FOUND and allow_suspend and header.sys_flag & PULL_SUSPEND:
            if self._suspend(channel, request, header, message_filter):
                reply = None
        elif code is ResponseCode.PULL_OFFSET_MOVED:
            self._offset_moved(header, result)
        return reply

    def _suggestion(self, header: PullMessageRequestHeader, result: GetMessageResult) -> int:
        """Return the id of the broker to pull from next time (``suggestPullingFromSlave``)."""
        if not self.config.slave_read_enable:
            return MASTER_ID
        group = self.checks.groups.find_subscription_group_config(header.consumer_group)
        if group is None:
            return MASTER_ID
        if is_in_memory(self.store, header.topic, header.queue_id, result.next_begin_offset):
            return group.broker_id
        return group.which_broker_when_consume_slowly

    # ------------------------------------------------------------------------------ effects

    def _note_puller(self, channel: Channel, header: PullMessageRequestHeader) -> None:
        """Remember the last client that pulled the queue, from which observers infer the assignment."""
        info = self.consumers.get_consumer_group_info(header.consumer_group)
        if info is not None and channel in info.channel_info_table:
            info.last_pulled_by[header.topic, header.queue_id] = channel

    def _commit_offset(self, channel: Channel, header: PullMessageRequestHeader) -> None:
        """Store the progress that the pull carries, once: not again when a parked pull wakes."""
        is_slave = self.config.broker_role is HaRole.SLAVE
        if header.sys_flag & PULL_COMMIT_OFFSET and header.commit_offset >= 0 and not is_slave:
            group, topic, queue_id, offset = header.consumer_group, header.topic, header.queue_id, header.commit_offset
            if self.offsets.lets_commit(channel.remote_address, group, topic, queue_id, offset):
                self.offsets.commit_offset(channel.remote_address, group, topic, queue_id, offset)

    def _suspend(
        self,
        channel: Channel,
        request: RemotingCommand,
        header: PullMessageRequestHeader,
        message_filter: MessageFilter | None,
    ) -> bool:
        config = self.config
        timeout_ms = header.suspend_timeout_millis if config.long_polling_enable else config.short_polling_time_mills
        asked = request.without_content()
        pull = HeldPullRequest(
            channel, asked, header, message_filter, self.clock.now_ms(), timeout_ms, header.queue_offset
        )
        return self.held_pulls.suspend_pull_request(pull)

    def _count_found(self, header: PullMessageRequestHeader, result: GetMessageResult) -> None:
        self.stats.record_pull(
            header.topic,
            header.consumer_group,
            result.message_count,
            len(result.data),
            store_timestamp_of(result.data),
            self.clock.now_ms(),
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
        if self.config.offset_moved_event_enable and self.config.broker_role is not HaRole.SLAVE:
            self.store.put_message(
                offset_moved_event(
                    header,
                    result.next_begin_offset,
                    self.config.broker_name,
                    self.address.store_host,
                    self.clock.now_ms(),
                )
            )


def _reply(
    request: RemotingCommand, code: ResponseCode, result: GetMessageResult, suggested_broker_id: int
) -> RemotingCommand:
    """Return a reply. The four offset fields are always present: the Java client unboxes them unchecked."""
    return RemotingCommand(
        code=code,
        opaque=request.opaque,
        flag=RESPONSE_FLAG,
        remark=result.status.name,
        ext_fields={
            "suggestWhichBrokerId": str(suggested_broker_id),
            "nextBeginOffset": str(result.next_begin_offset),
            "minOffset": str(result.min_offset),
            "maxOffset": str(result.max_offset),
        },
        body=result.data,
        serialize_type=request.serialize_type,
    )
