"""The deletion of a topic (RocketMQ: ``AdminBrokerProcessor.deleteTopic``, ``DefaultMessageStore.cleanUnusedTopic``).

It deletes the topic's configuration, its consume queues with their files, and its counters. Its messages stay in the
commit log until they expire, and can still be found by offset id or key. It does more than RocketMQ:

* The offsets of all groups are deleted, too. RocketMQ keeps them: when the topic is created again its queues begin at
  0, and a group would continue at its old offset and never receive the messages before it.
* Waiting pulls are answered (TOPIC_NOT_EXIST) instead of waiting for messages that cannot arrive.
* When the reply is sent, the deletion survives a crash: the queues are not rebuilt from the commit log. And no
  registration in progress still names the topic: once a name server deletes it (216), it does not reappear there.
* A crash before the reply restores neither messages nor offsets: the end of the deleted messages in the log is on disk
  before the queues are deleted.

If topics are created on demand, a producer that still sends creates the topic again, in RocketMQ and here.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine.broker.delivery.pull_request_hold_service import PullRequestHoldService
from engine.broker.foundation.broker_registration import BrokerRegistration
from engine.broker.foundation.broker_stats_manager import BrokerStatsManager
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.broker.tables.rebalance_lock_manager import RebalanceLockManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.store.message_store import MessageStore

logger = logging.getLogger("glassmq.broker")


@dataclass(frozen=True)
class TopicDeletion:
    """The deletion of topics from all tables. Methods raise ``ConfigNotSaved`` and ``DiskFault``.

    After ``ConfigNotSaved`` nothing was deleted, or the offsets are deleted but not yet on disk.

    :param deleted: makes the other members of the group delete the queues of the topics.
    """

    store: MessageStore
    topics: TopicConfigManager
    offsets: ConsumerOffsetManager
    locks: RebalanceLockManager
    consumers: ConsumerManager
    held_pulls: PullRequestHoldService
    stats: BrokerStatsManager
    registration: BrokerRegistration
    deleted: Callable[[list[str]], Awaitable[None]]

    async def delete_topic(self, topic: str) -> None:
        """Delete ``topic``; an unknown one is ignored."""
        await self.topics.delete_topic_config(topic)
        await self._delete_queues([topic])
        await self.registration.registered()

    async def clean_unused_topics(self) -> None:
        """Delete the consume queues of topics that are not configured."""
        known, is_system = self.topics.topic_config_table, self.topics.is_system_topic
        unused = [topic for topic in self.store.topics() if topic not in known and not is_system(topic)]
        for topic in unused:
            logger.info("topic %s is not configured: its consume queues are deleted", topic)
        if unused:
            await self._delete_queues(unused)

    async def _delete_queues(self, topics: list[str]) -> None:
        with self.offsets.kept_in_the_file():
            self.store.delete_topics(topics)
            for topic in topics:
                self._forget(topic)
            await self.store.make_deletions_last()
            await self.deleted(topics)
        await self.offsets.persist()

    def _forget(self, topic: str) -> None:
        self.offsets.remove_topic(topic)
        self.locks.remove_topic(topic)
        self.stats.forget_topic(topic)
        for group in self.consumers:
            for queue in [queue for queue in group.last_pulled_by if queue[0] == topic]:
                del group.last_pulled_by[queue]
        self.held_pulls.wake_topic(topic)
