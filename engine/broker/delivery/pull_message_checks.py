"""The checks before a pull is answered (RocketMQ: the first half of ``PullMessageProcessor.processRequest``).

The checks run in RocketMQ's order, each with its own reply code::

    broker readable 16 | group known 26 | group may consume 16 | topic known 17 | topic readable 16 | queue id 1
    | subscription: known 24, broadcasting allowed 16, topic subscribed 24, recent enough 25
    | its expression, unless it is one of tags: compiles 23, known 27, recent enough 28, its type supported 1

25 is normal: after a rebalance a pull may overtake the heartbeat with the new subscription version; the client tries
again after 1 s.

Different from RocketMQ: a pull with an expression that cannot be compiled gets 23. RocketMQ treats it as a subscription
to everything, unless the JVM checks assertions.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.filters.consumer_filter_data import ConsumerFilterData
from engine.broker.filters.consumer_filter_manager import ConsumerFilterManager
from engine.broker.filters.expression_message_filter import check_filtered_by, filter_data_of, message_filter_for
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.subscription_group_manager import SubscriptionGroupManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.filter.errors import FilterSyntaxError
from engine.protocol.body.subscription_data import SubscriptionData, build_subscription_data
from engine.protocol.command.headers import PullMessageRequestHeader
from engine.protocol.enums import ExpressionType, MessageModel
from engine.protocol.errors import MalformedBody
from engine.protocol.permission import is_readable
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import PULL_SUBSCRIPTION
from engine.remoting.errors import RequestRefused
from engine.store.reading.message_filter import MessageFilter


@dataclass(frozen=True)
class PullMessageChecks:
    """The tables that the checks use. Methods raise :class:`RequestRefused`."""

    config: BrokerConfig
    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    consumers: ConsumerManager
    filters: ConsumerFilterManager

    def filter_of(self, header: PullMessageRequestHeader, connection: str) -> MessageFilter | None:
        """Check the pull on ``connection`` and return its filter; None: it matches everything."""
        self._check_group_and_topic(header)
        is_its_own = header.sys_flag & PULL_SUBSCRIPTION
        subscription = _subscription_of_header(header) if is_its_own else self._subscription_of_group(header)
        if subscription.expression_type == ExpressionType.TAG:
            data = None
        elif is_its_own:
            data = filter_data_of(self.config, self.filters, header.consumer_group, subscription, connection)
        else:
            data = self._filter_data_of_group(header, subscription, connection)
            check_filtered_by(self.config, subscription.expression_type)
        return message_filter_for(
            subscription, data, self.filters, filter_support_retry=self.config.filter_support_retry
        )

    def _check_group_and_topic(self, header: PullMessageRequestHeader) -> None:
        group, topic = header.consumer_group, header.topic
        if not is_readable(self.config.broker_permission):
            raise RequestRefused(f"broker {self.config.broker_name} may not be read", ResponseCode.NO_PERMISSION)
        group_config = self.groups.find_subscription_group_config(group)
        if group_config is None:
            raise RequestRefused(
                f"group {group} does not exist and may not be created by pulling",
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            )
        if not group_config.consume_enable:
            raise RequestRefused(f"group {group} may not consume (consumeEnable=false)", ResponseCode.NO_PERMISSION)
        config = self.topics.known_topic(topic)
        if not is_readable(config.perm):
            raise RequestRefused(f"topic {topic} may not be read (perm {config.perm})", ResponseCode.NO_PERMISSION)
        if not 0 <= header.queue_id < config.read_queue_nums:
            raise RequestRefused(
                f"queue id {header.queue_id} of topic {topic}; allowed: 0 to {config.read_queue_nums - 1}"
            )

    def _subscription_of_group(self, header: PullMessageRequestHeader) -> SubscriptionData:
        group, topic = header.consumer_group, header.topic
        info = self.consumers.get_consumer_group_info(group)
        if info is None:
            raise RequestRefused(
                f"no member of group {group} has sent a heartbeat yet", ResponseCode.SUBSCRIPTION_NOT_EXIST
            )
        group_config = self.groups.subscription_group_table[group]
        if not group_config.consume_broadcast_enable and info.message_model == MessageModel.BROADCASTING:
            raise RequestRefused(
                f"group {group} may not broadcast (consumeBroadcastEnable=false)", ResponseCode.NO_PERMISSION
            )
        subscription = info.subscription_table.get(topic)
        if subscription is None:
            raise RequestRefused(f"group {group} does not subscribe to {topic}", ResponseCode.SUBSCRIPTION_NOT_EXIST)
        if subscription.sub_version < header.sub_version:
            raise RequestRefused(
                f"group {group} on {topic}: the pull knows subscription version {header.sub_version}, "
                f"the last heartbeat said {subscription.sub_version}",
                ResponseCode.SUBSCRIPTION_NOT_LATEST,
            )
        return subscription

    def _filter_data_of_group(
        self, header: PullMessageRequestHeader, subscription: SubscriptionData, connection: str
    ) -> ConsumerFilterData:
        group, topic = header.consumer_group, header.topic
        data = self.filters.get(topic, group)
        if data is None:
            why = "the broker has no room for more expressions (maxConsumerFilters, maxConsumerFilterWords)"
            try:
                self.filters.compiler.compile(subscription.sub_string, connection)
            except (FilterSyntaxError, RequestRefused) as error:
                why = str(error)
            raise RequestRefused(
                f"the expression of group {group} on {topic} is not in use: {why}", ResponseCode.FILTER_DATA_NOT_EXIST
            )
        if data.client_version < header.sub_version:
            raise RequestRefused(
                f"group {group} on {topic}: the pull has version {header.sub_version} of the expression, the broker "
                f"has {data.client_version}",
                ResponseCode.FILTER_DATA_NOT_LATEST,
            )
        return data


def _subscription_of_header(header: PullMessageRequestHeader) -> SubscriptionData:
    try:
        return build_subscription_data(
            header.topic, header.subscription, expression_type=header.expression_type, sub_version=header.sub_version
        )
    except MalformedBody as error:
        raise RequestRefused(str(error), ResponseCode.SUBSCRIPTION_PARSE_FAILED) from error
