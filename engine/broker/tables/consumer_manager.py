"""The online consumer groups (RocketMQ: ``ConsumerManager``, ``ConsumerGroupInfo``,
``DefaultConsumerIdsChangeListener``).

A group is defined by its members' last heartbeats. The table of subscriptions belongs to the *group*, and each
heartbeat replaces it: a topic missing from one member's heartbeat is removed for all. That is why two processes of one
group which subscribe to different topics break each other.

When a member joins or leaves, or the set of topics changes, every member is notified (NOTIFY_CONSUMER_IDS_CHANGED) and
rebalances immediately instead of within 20 s.

Added: bounds. The content of a heartbeat is kept as long as the client is connected, so groups, members, subscriptions
and their texts are counted before anything is taken over, and a heartbeat over a bound is refused as a whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.errors import TooManyEntries
from engine.broker.tables.client_channel_info import ClientChannelInfo
from engine.protocol.body.heartbeat_data import ConsumerData
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.errors import RequestRefused

logger = logging.getLogger("glassmq.broker")

#: A callback for a group whose members must be notified of a change.
ConsumerIdsChangeListener = Callable[[str], None]


#: The memory of the objects of one subscription, and of one tag in it, without their texts.
_SUBSCRIPTION_BYTES = 500
_TAG_BYTES = 100


def size_of(subscription: SubscriptionData) -> int:
    """Return the approximate memory size of ``subscription`` in bytes."""
    texts = len(subscription.topic) + len(subscription.sub_string) + sum(map(len, subscription.tags_set))
    return _SUBSCRIPTION_BYTES + _TAG_BYTES * len(subscription.tags_set) + texts


@dataclass(eq=False)
class ConsumerGroupInfo:
    """One group that is online."""

    group_name: str
    consume_type: ConsumeType
    message_model: MessageModel
    consume_from_where: ConsumeFromWhere
    #: Topic -> the whole group's subscription.
    subscription_table: dict[str, SubscriptionData] = field(default_factory=dict)
    channel_info_table: dict[Channel, ClientChannelInfo] = field(default_factory=dict)
    #: (topic, queue id) -> the member that pulled it last. The broker is never informed how queues are assigned; this
    #: is what it can observe.
    last_pulled_by: dict[tuple[str, int], Channel] = field(default_factory=dict)
    last_update_ms: int = 0
    #: The memory size of ``subscription_table``.
    bytes: int = 0

    @property
    def client_ids(self) -> list[str]:
        """Return the client ids of the members, oldest connection first."""
        return [info.client_id for info in self.channel_info_table.values()]

    @property
    def channels(self) -> list[Channel]:
        """Return the members' connections, oldest first."""
        return list(self.channel_info_table)

    def find_client(self, client_id: str) -> ClientChannelInfo | None:
        """Return the member with the id ``client_id``."""
        return next((info for info in self.channel_info_table.values() if info.client_id == client_id), None)

    def update_channel(self, client: ClientChannelInfo, consumer: ConsumerData) -> bool:
        """Take over ``client``'s heartbeat; return True for a new member."""
        self.consume_type = consumer.consume_type
        self.message_model = consumer.message_model
        self.consume_from_where = consumer.consume_from_where
        self.last_update_ms = client.last_update_ms
        known = self.channel_info_table.get(client.channel)
        if known is not None and known.client_id != client.client_id:
            logger.error(
                "group %s: %s reports %s, before it reported %s",
                self.group_name,
                client.channel.remote_address,
                client.client_id,
                known.client_id,
            )
        self.channel_info_table[client.channel] = client
        return known is None

    def bytes_with(self, subscriptions: Iterable[SubscriptionData]) -> int:
        """Return the maximum size of the table, in bytes, after it takes over ``subscriptions``."""
        total = 0
        for subscription in subscriptions:
            known = self.subscription_table.get(subscription.topic)
            total += max(size_of(subscription), size_of(known) if known is not None else 0)
        return total

    def update_subscriptions(self, subscriptions: Iterable[SubscriptionData]) -> bool:
        """Replace the subscriptions; return True if the set of topics changed.

        A subscription is replaced only by one with a higher version: heartbeats of a slow member must not undo those of
        a fast one.
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
        self.bytes = sum(map(size_of, self.subscription_table.values()))
        return changed


class ConsumerManager:
    """The table of consumer groups that are online.

    :param notify: notifies the members of a group that its membership changed.
    :param config: bounds.
    :param group_gone: called with a group that has lost its last member.
    """

    def __init__(
        self, notify: ConsumerIdsChangeListener, config: BrokerConfig, group_gone: Callable[[str], None]
    ) -> None:
        self._notify = notify
        self._group_gone = group_gone
        self._config = config
        self._table: dict[str, ConsumerGroupInfo] = {}
        #: The number of members of all groups, and the size of all their subscriptions in bytes.
        self._members = 0
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[ConsumerGroupInfo]:
        return iter(self._table.values())

    def get_consumer_group_info(self, group: str) -> ConsumerGroupInfo | None:
        """Return the group, or None if no member of it is online."""
        return self._table.get(group)

    def online_group(self, group: str, if_not: ResponseCode = ResponseCode.SYSTEM_ERROR) -> ConsumerGroupInfo:
        """Return the group. Raises :class:`RequestRefused` with ``if_not`` if no member is online."""
        info = self._table.get(group)
        if info is None:
            raise RequestRefused(f"no consumer of group {group!r} is connected", if_not)
        return info

    def find_subscription_data(self, group: str, topic: str) -> SubscriptionData | None:
        """Return the subscription of ``group`` to ``topic``."""
        info = self._table.get(group)
        return None if info is None else info.subscription_table.get(topic)

    def groups_of_topic(self, topic: str) -> list[str]:
        """Return the online groups that subscribe to ``topic``."""
        return [info.group_name for info in self._table.values() if topic in info.subscription_table]

    def check_room(self, consumers: Iterable[ConsumerData], channel: Channel) -> None:
        """Check whether a heartbeat with ``consumers`` may be taken over. Raises :class:`TooManyEntries` naming the
        bound.
        """
        config = self._config
        groups, members, total = len(self._table), self._members, self._bytes
        for consumer in consumers:
            name, subscriptions = consumer.group_name, consumer.subscriptions
            if len(subscriptions) > config.max_subscriptions_per_group:
                raise TooManyEntries(f"subscriptions of group {name}", config.max_subscriptions_per_group)
            for subscription in subscriptions:
                what = f"of group {name} to {subscription.topic[:127]}"
                if len(subscription.tags_set) > config.max_tags_per_subscription:
                    raise TooManyEntries(f"tags in the subscription {what}", config.max_tags_per_subscription)
                if size_of(subscription) > config.max_subscription_bytes:
                    raise TooManyEntries(f"bytes in the subscription {what}", config.max_subscription_bytes)
            info = self._table.get(name)
            groups += info is None
            members += info is None or channel not in info.channel_info_table
            total += sum(map(size_of, subscriptions)) if info is None else info.bytes_with(subscriptions) - info.bytes
        for what, count, known, limit in (
            ("consumer groups online", groups, len(self._table), config.max_online_groups),
            ("members of consumer groups", members, self._members, config.max_group_members),
            ("bytes in all subscriptions", total, self._bytes, config.max_subscription_bytes_in_all),
        ):
            if count > max(limit, known):
                raise TooManyEntries(what, limit)

    def register_consumer(
        self, consumer: ConsumerData, client: ClientChannelInfo, *, notify_members: bool = True
    ) -> bool:
        """Take over one group of a heartbeat, after :meth:`check_room`; return True if membership or topics changed."""
        info = self._table.get(consumer.group_name)
        if info is None:
            info = ConsumerGroupInfo(
                consumer.group_name, consumer.consume_type, consumer.message_model, consumer.consume_from_where
            )
            self._table[consumer.group_name] = info
        is_new = info.update_channel(client, consumer)
        self._members += is_new
        self._bytes -= info.bytes
        changed = info.update_subscriptions(consumer.subscriptions) or is_new
        self._bytes += info.bytes
        if is_new:
            logger.info("%s joins group %s", client.client_id, consumer.group_name)
        if changed and notify_members:
            self._notify(info.group_name)
        return changed

    def unregister_consumer(self, group: str, channel: Channel, *, notify_members: bool = True) -> None:
        """Remove the client at ``channel`` from ``group``."""
        info = self._table.get(group)
        if info is None:
            return
        client = info.channel_info_table.pop(channel, None)
        if client is None:
            return
        logger.info("%s leaves group %s", client.client_id, group)
        self._after_leaving(info, channel, notify_members)

    def channel_closed(self, channel: Channel) -> None:
        """Remove the client of a closed connection from all groups, and notify the other members."""
        for info in list(self._table.values()):
            client = info.channel_info_table.pop(channel, None)
            if client is not None:
                logger.info("%s leaves group %s: its connection closed", client.client_id, info.group_name)
                self._after_leaving(info, channel, notify_members=True)

    def expired_channels(self, now_ms: int, timeout_ms: int) -> list[Channel]:
        """Return the connections whose client has sent no heartbeat for longer than ``timeout_ms``."""
        return [
            client.channel
            for info in self._table.values()
            for client in info.channel_info_table.values()
            if now_ms - client.last_update_ms > timeout_ms
        ]

    def _after_leaving(self, info: ConsumerGroupInfo, channel: Channel, notify_members: bool) -> None:
        self._members -= 1
        if not info.channel_info_table:
            del self._table[info.group_name]
            self._bytes -= info.bytes
            logger.info("group %s has no members any more", info.group_name)
            self._group_gone(info.group_name)
            return
        for queue in [queue for queue, puller in info.last_pulled_by.items() if puller is channel]:
            del info.last_pulled_by[queue]
        if notify_members:
            self._notify(info.group_name)
