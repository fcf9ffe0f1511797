"""Groups as a test asks for them: members, subscriptions, progress and locks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.broker.broker import Broker
from engine.protocol.names import is_system_group, is_system_topic, retry_topic
from engine.testkit.errors import TestKitError
from engine.texts import Text


@dataclass(slots=True)
class GroupState:
    """A group of consumers, of producers, or of both under one name.

    :ivar consumers: client ids of its connected consumers.
    :ivar producers: client ids of its connected producers.
    :ivar subscriptions: topic -> expression of its connected consumers.
    """

    name: str
    consumers: list[str] = field(default_factory=list)
    producers: list[str] = field(default_factory=list)
    subscriptions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """The progress of a group in one queue. ``committed`` is None while it has never committed an offset there."""

    topic: str
    queue_id: int
    start: int
    end: int
    committed: int | None

    @property
    def lag(self) -> int:
        """Return how many messages are not confirmed."""
        return max(0, self.end - (self.start if self.committed is None else self.committed))


@dataclass(frozen=True, slots=True)
class QueueLock:
    """The lock of a queue, as the broker has it. A client that renews it in time keeps it."""

    topic: str
    queue_id: int
    client_id: str
    expires_in_ms: int


def groups_of(broker: Broker) -> dict[str, GroupState]:
    """Return the groups that are or were connected, by name."""
    found: dict[str, GroupState] = {}
    for info in broker.consumer_manager:
        group = found.setdefault(info.group_name, GroupState(info.group_name))
        group.consumers = info.client_ids
        group.subscriptions = {topic: one.sub_string for topic, one in info.subscription_table.items()}
    for name, clients in broker.producer_manager:
        found.setdefault(name, GroupState(name)).producers = [client.client_id for client in clients.values()]
    for name in broker.subscription_group_manager.subscription_group_table:
        found.setdefault(name, GroupState(name))
    return {name: found[name] for name in sorted(found) if not is_system_group(name)}


def known_group(broker: Broker, name: str) -> GroupState:
    """Return a group. Raises :class:`TestKitError`, which names those that there are."""
    groups = groups_of(broker)
    if name not in groups:
        known = ", ".join(groups) or Text("testkit.no_group")
        raise TestKitError(Text("testkit.unknown_group", group=repr(name), known=known))
    return groups[name]


def progress_of(broker: Broker, group: str, topic: str | None = None) -> list[QueueProgress]:
    """Return the queues of ``topic``; without one, of all that the group subscribes to or has offsets in, and of its
    retry topic.
    """
    topics = topics_of(broker, known_group(broker, group))
    wanted = [one for one in topics if not is_system_topic(one)] if topic is None else [topic]
    return [queue for one in wanted for queue in _queues(broker, group, one)]


def topics_of(broker: Broker, group: GroupState) -> list[str]:
    """Return what the group subscribes to or has offsets in, and its retry topic."""
    committed = broker.consumer_offset_manager.topics_of_group(group.name)
    return list(dict.fromkeys((*group.subscriptions, *committed, retry_topic(group.name))))


def _queues(broker: Broker, group: str, topic: str) -> Iterator[QueueProgress]:
    committed = broker.consumer_offset_manager.offsets_of(group, topic)
    for of, queue_id, queue in broker.store.consume_queues():
        if of == topic:
            yield QueueProgress(topic, queue_id, queue.min_offset, queue.max_offset, committed.get(queue_id))


def locks_of(broker: Broker, group: str) -> list[QueueLock]:
    """Return the locks that the group's members hold; expired ones are left out."""
    manager, now_ms = broker.rebalance_lock_manager, broker.runtime.clock.now_ms()
    found = [
        QueueLock(queue.topic, queue.queue_id, entry.client_id, manager.lock_lease_ms - (now_ms - entry.last_update_ms))
        for of, queue, entry in manager.entries()
        if of == group
    ]
    return sorted((lock for lock in found if lock.expires_in_ms >= 0), key=lambda lock: (lock.topic, lock.queue_id))
