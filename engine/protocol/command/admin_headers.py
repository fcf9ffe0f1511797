"""Headers of administration at a broker: codes 17, 26, 200-208, 215, 216, 300, 303, 308, 314, 315, 317, 321."""

from __future__ import annotations

from engine.protocol.command.command_header import CommandHeader, Int32, Int64


class CreateTopicRequestHeader(CommandHeader):
    """The header of UPDATE_AND_CREATE_TOPIC (17). ``default_topic`` only names the template; the numbers here
    decide.
    """

    topic: str
    default_topic: str
    read_queue_nums: Int32
    write_queue_nums: Int32
    perm: Int32
    topic_filter_type: str
    topic_sys_flag: Int32 | None = 0
    order: bool = False


class DeleteTopicRequestHeader(CommandHeader):
    """The header of DELETE_TOPIC_IN_BROKER (215) and, with ``cluster_name``, DELETE_TOPIC_IN_NAMESRV (216)."""

    topic: str
    cluster_name: str | None = None


class DeleteSubscriptionGroupRequestHeader(CommandHeader):
    """The header of DELETE_SUBSCRIPTIONGROUP (207), which also deletes the stored offsets if requested."""

    group_name: str
    remove_offset: bool = False


class GetTopicStatsInfoRequestHeader(CommandHeader):
    """The header of GET_TOPIC_STATS_INFO (202)."""

    topic: str


class GetConsumerConnectionListRequestHeader(CommandHeader):
    """The header of GET_CONSUMER_CONNECTION_LIST (203)."""

    consumer_group: str


class GetProducerConnectionListRequestHeader(CommandHeader):
    """The header of GET_PRODUCER_CONNECTION_LIST (204)."""

    producer_group: str


class GetConsumeStatsRequestHeader(CommandHeader):
    """The header of GET_CONSUME_STATS (208). Without ``topic``: all topics that the group subscribes to."""

    consumer_group: str
    topic: str | None = None


class QueryTopicConsumeByWhoRequestHeader(CommandHeader):
    """The header of QUERY_TOPIC_CONSUME_BY_WHO (300): the groups that consume the topic."""

    topic: str


class QueryConsumeTimeSpanRequestHeader(CommandHeader):
    """The header of QUERY_CONSUME_TIME_SPAN (303): store times of a topic's messages and of those that the group
    consumed.
    """

    topic: str
    group: str


class QueryConsumeQueueRequestHeader(CommandHeader):
    """The header of QUERY_CONSUME_QUEUE (321): ``count`` entries of a consume queue from entry ``index`` on."""

    topic: str
    queue_id: Int32
    index: Int64
    count: Int32
    consumer_group: str | None = None


class GetBrokerConfigResponseHeader(CommandHeader):
    """The reply of GET_BROKER_CONFIG; ``version`` is a DataVersion as JSON text."""

    version: str


class QueryCorrectionOffsetHeader(CommandHeader):
    """The header of QUERY_CORRECTION_OFFSET (308): ``filter_groups``, joined by commas, are left out of the
    comparison.
    """

    compare_group: str
    topic: str
    filter_groups: str | None = None


class CloneGroupOffsetRequestHeader(CommandHeader):
    """The header of CLONE_GROUP_OFFSET (314). Without ``topic``: all topics of the source group. ``offline`` includes
    topics that the source group's members do not subscribe to.
    """

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False


class ViewBrokerStatsDataRequestHeader(CommandHeader):
    """The header of VIEW_BROKER_STATS_DATA (315): one counter, such as TOPIC_PUT_NUMS of a topic."""

    stats_name: str
    stats_key: str


class GetConsumeStatsInBrokerHeader(CommandHeader):
    """The header of GET_BROKER_CONSUME_STATS (317): statistics of all groups, limited to ordered topics if
    requested.
    """

    is_order: bool
