"""What goes with a topic (RocketMQ: ``AdminBrokerProcessor.deleteTopic``, ``DefaultMessageStore.cleanUnusedTopic``).

Its configuration, its consume queues with their files, its counters. Its messages stay in the commit log until they
expire, and can still be found by offset id or key. More than RocketMQ does:

* The offsets of all groups go too. RocketMQ keeps them: when the topic is made again its queues begin at 0, a group
  would go on at its old offset and never see the messages before it.
* Pulls that wait are answered (TOPIC_NOT_EXIST) instead of waiting for messages that cannot come.
* When the reply is sent, the deletion survives a crash: the queues do not come back from the commit log. And no
  registration that still names the topic is on its way: a name server that deletes it next (216) has it no more.
* A crash before it brings neither messages nor offsets back: where the deleted messages end in the log is on the disk
  before the queues go.

A producer that still sends makes the topic again where topics are created on demand, in RocketMQ and here.
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
    """Whatever knows of a topic. Methods raise ``ConfigNotSaved`` (nothing was deleted then, or the offsets are
    forgotten but not yet on the disk) and ``DiskFault``.

    :param deleted: has the other members of a group delete the queues of topics, too.
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
        """Delete ``topic``; one that nobody knows leaves nothing to do."""
        await self.topics.delete_topic_config(topic)
        await self._delete_queues([topic])
        await self.registration.told()

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
