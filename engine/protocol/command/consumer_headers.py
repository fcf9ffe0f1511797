"""Headers of consumer groups and their offsets: codes 14, 15, 35, 38, 40, 220, 221, 307, 309."""

from __future__ import annotations

from engine.protocol.command.command_header import CommandHeader, Int32, Int64


class QueryConsumerOffsetRequestHeader(CommandHeader):
    """The header of QUERY_CONSUMER_OFFSET (14)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    broker_name: str | None = None


class UpdateConsumerOffsetRequestHeader(CommandHeader):
    """The header of UPDATE_CONSUMER_OFFSET (15). ``commit_offset`` is the next offset to consume."""

    consumer_group: str
    topic: str
    queue_id: Int32
    commit_offset: Int64
    broker_name: str | None = None


class UnregisterClientRequestHeader(CommandHeader):
    """The header of UNREGISTER_CLIENT (35): the client leaves the named groups."""

    client_id: str
    producer_group: str | None = None
    consumer_group: str | None = None


class GetConsumerListByGroupRequestHeader(CommandHeader):
    """The header of GET_CONSUMER_LIST_BY_GROUP (38)."""

    consumer_group: str


class NotifyConsumerIdsChangedRequestHeader(CommandHeader):
    """The header of NOTIFY_CONSUMER_IDS_CHANGED (40), sent by the broker: rebalance now."""

    consumer_group: str


class ResetOffsetRequestHeader(CommandHeader):
    """The header of resets, codes 220 and 222. ``timestamp`` is in ms; -1 means the newest offset."""

    topic: str
    group: str
    timestamp: Int64
    is_force: bool


class GetConsumerStatusRequestHeader(CommandHeader):
    """The header of GET_CONSUMER_STATUS_FROM_CLIENT (221) and the request to the broker that triggers it (223)."""

    topic: str
    group: str
    client_addr: str | None = None


class GetConsumerRunningInfoRequestHeader(CommandHeader, wire_names={}):
    """The header of GET_CONSUMER_RUNNING_INFO (307), relayed by the broker to the client.

    ``insides_enable`` is an addition: also report the process queue and the local lock of each queue. Other clients
    ignore it.
    """

    consumer_group: str
    client_id: str
    jstack_enable: bool = False
    insides_enable: bool | None = None


class ConsumeMessageDirectlyResultRequestHeader(CommandHeader, wire_names={}):
    """The header of CONSUME_MESSAGE_DIRECTLY (309), relayed by the broker with the message in the body."""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
