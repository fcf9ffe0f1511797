"""Who consumes (RocketMQ: ``ConsumerManager``, ``ConsumerGroupInfo``, ``DefaultConsumerIdsChangeListener``).

A group is what its members' last heartbeats said. The table of subscriptions belongs to the *group*, and each
heartbeat replaces it: a topic missing from one member's heartbeat is removed for all. That is why two processes of
one group which subscribe to different topics break each other.

When a member comes or goes, or the set of topics changes, every member is told (NOTIFY_CONSUMER_IDS_CHANGED) and
rebalances at once instead of within 20 s.

Added: the number of groups and of subscriptions per group is bounded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

from engine.broker.client_channel_info import ClientChannelInfo
from engine.broker.errors import TooManyEntries
from engine.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from engine.protocol.heartbeat_data import ConsumerData
from engine.protocol.subscription_data import SubscriptionData
from engine.remoting.channel import Channel

logger = logging.getLogger("glassmq.broker")

#: Called with a group whose members must hear of a change.
ConsumerIdsChangeListener = Callable[[str], None]


class ConsumerGroupInfo:
    """One group that is online."""

    def __init__(
        self,
        group_name: str,
        consume_type: ConsumeType,
        message_model: MessageModel,
        consume_from_where: ConsumeFromWhere,
    ) -> None:
        self.group_name = group_name
        self.consume_type = consume_type
        self.message_model = message_model
        self.consume_from_where = consume_from_where
        #: Topic -> subscription of the whole group.
        self.subscription_table: dict[str, SubscriptionData] = {}
        self.channel_info_table: dict[Channel, ClientChannelInfo] = {}
        #: (topic, queue id) -> the member that pulled it last. The broker is never told how queues are assigned; this
        #: is what it can see of it.
        self.last_pulled_by: dict[tuple[str, int], Channel] = {}
        self.last_update_ms = 0

    @property
    def client_ids(self) -> list[str]:
        """The members, oldest connection first."""
        return [info.client_id for info in self.channel_info_table.values()]

    @property
    def channels(self) -> list[Channel]:
        """The members' connections, oldest first."""
        return list(self.channel_info_table)

    def find_client(self, client_id: str) -> ClientChannelInfo | None:
        """The member called ``client_id``."""
        return next((info for info in self.channel_info_table.values() if info.client_id == client_id), None)

    def update_channel(self, client: ClientChannelInfo, consumer: ConsumerData) -> bool:
        """Take over what ``client``'s heartbeat says; True when it is a new member."""
        self.consume_type = consumer.consume_type
        self.message_model = consumer.message_model
        self.consume_from_where = consumer.consume_from_where
        self.last_update_ms = client.last_update_ms
        known = self.channel_info_table.get(client.channel)
        if known is not None and known.client_id != client.client_id:
            logger.error(
                "group %s: %s says it is %s, before it said %s",
                self.group_name,
                client.channel.remote_address,
                client.client_id,
                known.client_id,
            )
        self.channel_info_table[client.channel] = client
        return known is None

    def update_subscriptions(self, subscriptions: Iterable[SubscriptionData]) -> bool:
        """Replace the subscriptions; True when the set of topics changed.

        A subscription is replaced only by one of a higher version: heartbeats of a slow member must not undo those of
        a quick one.
        """
        changed = False
        wanted: dict[str, SubscriptionData] = {}
        for subscription in subscriptions:
            wanted[subscription.topic] = subscription
            known = self.subscription_table.get(subscription.topic)
            if known is None:
                changed = True
                logger.info("group %s subscribes to %s", self.group_name, subscription.topic)
            if known is None or subscription.sub_version > known.sub_version:
                self.subscription_table[subscription.topic] = subscription
        for topic in [topic for topic in self.subscription_table if topic not in wanted]:
            logger.warning("group %s no longer subscribes to %s", self.group_name, topic)
            del self.subscription_table[topic]
            changed = True
        return changed


class ConsumerManager:
    """All consumer groups that are online.

    :param notify: tells the members of a group that its membership changed.
    :param max_groups: bound of the table.
    :param max_subscriptions_per_group: bound of one group's subscriptions.
    :param group_gone: told of a group that has lost its last member.
    """

    def __init__(
        self,
        notify: ConsumerIdsChangeListener,
        max_groups: int = 10_000,
        max_subscriptions_per_group: int = 1_000,
        group_gone: Callable[[str], None] | None = None,
    ) -> None:
        self._notify = notify
        self._group_gone = group_gone
        self._max_groups = max_groups
        self._max_subscriptions_per_group = max_subscriptions_per_group
        self._table: dict[str, ConsumerGroupInfo] = {}

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[ConsumerGroupInfo]:
        return iter(self._table.values())

    def get_consumer_group_info(self, group: str) -> ConsumerGroupInfo | None:
        """The group, if any of its members is online."""
        return self._table.get(group)

    def find_subscription_data(self, group: str, topic: str) -> SubscriptionData | None:
        """What ``group`` wants of ``topic``."""
        info = self._table.get(group)
        return None if info is None else info.subscription_table.get(topic)

    def groups_of_topic(self, topic: str) -> list[str]:
        """The online groups that subscribe to ``topic``."""
        return [info.group_name for info in self._table.values() if topic in info.subscription_table]

    def register_consumer(
        self, consumer: ConsumerData, client: ClientChannelInfo, *, notify_members: bool = True
    ) -> bool:
        """Take over one group of a heartbeat; True when membership or topics changed.

        Raises :class:`TooManyEntries` when a bound is reached.
        """
        if len(consumer.subscriptions) > self._max_subscriptions_per_group:
            raise TooManyEntries(f"subscriptions of group {consumer.group_name}", self._max_subscriptions_per_group)
        info = self._table.get(consumer.group_name)
        if info is None:
            if len(self._table) >= self._max_groups:
                raise TooManyEntries("consumer groups online", self._max_groups)
            info = ConsumerGroupInfo(
                consumer.group_name, consumer.consume_type, consumer.message_model, consumer.consume_from_where
            )
            self._table[consumer.group_name] = info
        is_new = info.update_channel(client, consumer)
        changed = info.update_subscriptions(consumer.subscriptions) or is_new
        if is_new:
            logger.info("%s joins group %s", client.client_id, consumer.group_name)
        if changed and notify_members:
            self._notify(info.group_name)
        return changed

    def unregister_consumer(self, group: str, channel: Channel, *, notify_members: bool = True) -> None:
        """The client behind ``channel`` leaves ``group``."""
        info = self._table.get(group)
        if info is None:
            return
        client = info.channel_info_table.pop(channel, None)
        if client is None:
            return
        logger.info("%s leaves group %s", client.client_id, group)
        self._after_leaving(info, channel, notify_members)

    def channel_closed(self, channel: Channel) -> None:
        """The connection ended: its client leaves all groups, and the others are told."""
        for info in list(self._table.values()):
            client = info.channel_info_table.pop(channel, None)
            if client is not None:
                logger.info("%s leaves group %s: its connection closed", client.client_id, info.group_name)
                self._after_leaving(info, channel, notify_members=True)

    def expired_channels(self, now_ms: int, timeout_ms: int) -> list[Channel]:
        """Connections whose client sent no heartbeat for longer than ``timeout_ms``."""
        return [
            client.channel
            for info in self._table.values()
            for client in info.channel_info_table.values()
            if now_ms - client.last_update_ms > timeout_ms
        ]

    def _after_leaving(self, info: ConsumerGroupInfo, channel: Channel, notify_members: bool) -> None:
        if not info.channel_info_table:
            del self._table[info.group_name]
            logger.info("group %s has no member any more", info.group_name)
            if self._group_gone is not None:
                self._group_gone(info.group_name)
            return
        for queue in [queue for queue, puller in info.last_pulled_by.items() if puller is channel]:
            del info.last_pulled_by[queue]
        if notify_members:
            self._notify(info.group_name)
