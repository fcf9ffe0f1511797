"""Consumer groups: members, subscriptions, the owner of each queue, lag, held pulls; and the lock table."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from app.observation.bounds import (
    GROUPS_MAX,
    HELD_PULLS_MAX,
    LOCKS_MAX,
    MEMBERS_PER_GROUP_MAX,
    SUBSCRIPTIONS_PER_GROUP_MAX,
    client_text,
)
from app.observation.unchanged import Unchanged
from app.observation.unix_time import world_us
from app.picture.consumer_group import ConsumerGroup, HeldPull, Member, Subscription
from engine.protocol.enums import MessageModel
from engine.protocol.names import is_system_group

if TYPE_CHECKING:
    from app.observation.topics_view import Committed
    from app.picture.lock import Lock
    from engine.broker.broker import Broker
    from engine.broker.tables.consumer_manager import ConsumerGroupInfo


class GroupsView:
    """Builds the ``groups`` and ``locks`` parts of the state."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._unchanged = Unchanged[ConsumerGroup]()

    def build(self, committed: Committed, begin_ms: int = 0) -> tuple[dict[str, ConsumerGroup], int]:
        """Return the groups, online ones first, and how many were left out.

        A system group is shown only while it has members.

        :param begin_ms: time of the broker's clock at which the time of the picture begins.
        """
        broker = self._broker
        lag = self._lag_by_group(committed)
        names = dict.fromkeys(sorted(info.group_name for info in broker.consumer_manager))
        known = (*broker.subscription_group_manager.subscription_group_table, *lag)
        names.update(dict.fromkeys(sorted(group for group in known if not is_system_group(group))))
        held = self._held_pulls(begin_ms)
        shown = list(islice(names, GROUPS_MAX))
        ages = {group: age for age, group in enumerate(dict.fromkeys(known))}
        groups = {
            group: self._group(group, ages.get(group, len(ages)), lag.get(group, 0), held.get(group, {}))
            for group in shown
        }
        return self._unchanged.reuse(groups), len(names) - len(shown)

    def _group(self, group: str, age: int, lag: int, held_pulls: dict[str, HeldPull]) -> ConsumerGroup:
        broadcasts = self._broker.subscription_group_manager.is_broadcasting(group)
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        view: ConsumerGroup = {
            "age": age,
            "consume_type": None,
            "message_model": str(MessageModel.BROADCASTING) if broadcasts else None,
            "consume_from_where": None,
            "members": {},
            "omitted_members": 0,
            "subscriptions": {},
            "assignment": {},
            "lag": None if broadcasts else lag,
            "held_pulls": held_pulls,
        }
        if info is not None:
            view["consume_type"] = str(info.consume_type.value)
            view["message_model"] = str(info.message_model.value)
            view["consume_from_where"] = str(info.consume_from_where.value)
            view["members"] = _members(info)
            view["omitted_members"] = max(0, len(info.channel_info_table) - MEMBERS_PER_GROUP_MAX)
            view["subscriptions"] = self._subscriptions(info)
            view["assignment"] = _assignment(info)
        return view

    def _subscriptions(self, info: ConsumerGroupInfo) -> dict[str, Subscription]:
        """Return topic -> expression, and what the broker's filter did with the topic's messages so far."""
        statistics = self._broker.filter_statistics
        view: dict[str, Subscription] = {}
        for topic, subscription in islice(info.subscription_table.items(), SUBSCRIPTIONS_PER_GROUP_MAX):
            counts = statistics.of(info.group_name, topic)
            view[topic] = {
                "expression": client_text(subscription.sub_string),
                "type": str(subscription.expression_type),
                "version": subscription.sub_version,
                "let_through": counts.let_through,
                "kept_back": counts.kept_back,
            }
        return view

    def _lag_by_group(self, committed: Committed) -> dict[str, int]:
        """Return the messages that each group has not confirmed yet, over all queues of which it has an offset."""
        max_offset = self._broker.store.max_offset
        lag: dict[str, int] = {}
        for topic, queues in committed.items():
            for queue_id, offsets in queues.items():
                end = max_offset(topic, queue_id)
                for group, offset in offsets.items():
                    behind = end - offset
                    lag[group] = lag.get(group, 0) + (behind if behind > 0 else 0)
        return lag

    def _held_pulls(self, begin_ms: int) -> dict[str, dict[str, HeldPull]]:
        """Return group -> ``topic@queue id`` -> the pull that is held there."""
        held: dict[str, dict[str, HeldPull]] = {}
        for pull in islice(self._broker.pull_request_hold_service.held(), HELD_PULLS_MAX):
            header = pull.header
            info = self._broker.consumer_manager.get_consumer_group_info(header.consumer_group)
            of_group = held.setdefault(header.consumer_group, {})
            of_group[f"{header.topic}@{header.queue_id}"] = {
                "topic": header.topic,
                "queue_id": header.queue_id,
                "offset": pull.pull_from_this_offset,
                "since_us": world_us(pull.suspend_timestamp, begin_ms),
                "timeout_ms": pull.timeout_ms,
                "client_id": None if info is None else _client_id_of(info, pull.channel),
            }
        return held

    def locks(self, begin_ms: int = 0) -> dict[str, dict[str, Lock]]:
        """Return the lock table: group -> ``topic@queue id`` -> lease.

        It has expired leases until they are replaced.
        """
        manager = self._broker.rebalance_lock_manager
        locks: dict[str, dict[str, Lock]] = {}
        for group, queue, entry in islice(manager.entries(), LOCKS_MAX):
            locks.setdefault(group, {})[f"{queue.topic}@{queue.queue_id}"] = {
                "topic": queue.topic,
                "queue_id": queue.queue_id,
                "client_id": client_text(entry.client_id),
                "since_us": world_us(entry.last_update_ms, begin_ms),
                "lease_ms": manager.lock_lease_ms,
            }
        return locks


def _members(info: ConsumerGroupInfo) -> dict[str, Member]:
    return {
        client_text(client.client_id): {
            "address": client.channel.remote_address,
            "language": client.language_name,
            "version": client.version,
        }
        for client in islice(info.channel_info_table.values(), MEMBERS_PER_GROUP_MAX)
    }


def _assignment(info: ConsumerGroupInfo) -> dict[str, dict[str, str]]:
    """Return topic -> queue id -> the client that pulled last.

    Clients decide the assignment; the broker only sees the pulls.
    """
    assignment: dict[str, dict[str, str]] = {}
    for (topic, queue_id), channel in islice(info.last_pulled_by.items(), HELD_PULLS_MAX):
        client_id = _client_id_of(info, channel)
        if client_id is not None:
            assignment.setdefault(topic, {})[str(queue_id)] = client_id
    return assignment


def _client_id_of(info: ConsumerGroupInfo, channel: object) -> str | None:
    client = info.channel_info_table.get(channel)  # type: ignore[call-overload]  # any key may be asked for
    return None if client is None else client_text(client.client_id)
