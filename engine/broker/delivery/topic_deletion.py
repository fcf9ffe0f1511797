"""What goes with a topic (RocketMQ: ``AdminBrokerProcessor.deleteTopic``, ``DefaultMessageStore.cleanUnusedTopic``).

Its configuration, its consume queues with their files, its counters. Its messages stay in the commit log until they
expire, and can still be found by offset id or key. More than RocketMQ does:

* The offsets of all groups go too. RocketMQ keeps them: when the topic is made again its queues begin at 0, a group
  would go on at its old offset and never see the messages before it.
* Pulls that wait are answered (TOPIC_NOT_EXIST) instead of waiting for messages that cannot come.
* When the reply is sent, the deletion survives a crash: the queues do not come back from the commit log. And no
  registration that still names the topic is on its way: a name server that deletes it next (216) has it no more.
* A crash before it brings the topic back with the offsets of its groups, or neither.

A producer that still sends makes the topic again where topics are created on demand, in RocketMQ and here.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.broker.broker import Broker

logger = logging.getLogger("glassmq.broker")


async def delete_topic(broker: Broker, topic: str) -> None:
    """Delete ``topic``; one that nobody knows leaves nothing to do.

    Raises ``ConfigNotSaved`` (nothing was deleted then, or the offsets are forgotten but not yet on the disk) and
    ``DiskFault``.
    """
    await broker.topic_config_manager.delete_topic_config(topic)
    await _delete_queues(broker, [topic])
    await broker.registration.told()


async def clean_unused_topics(broker: Broker) -> list[str]:
    """Delete the consume queues of topics that are not configured; those topics. Raises as :func:`delete_topic`."""
    manager = broker.topic_config_manager
    unused = [
        topic
        for topic in broker.store.topics()
        if topic not in manager.topic_config_table and not manager.is_system_topic(topic)
    ]
    for topic in unused:
        logger.info("topic %s is not configured: its consume queues are deleted", topic)
    if unused:
        await _delete_queues(broker, unused)
    return unused


async def _delete_queues(broker: Broker, topics: list[str]) -> None:
    """The recovery point decides: before it the topics come back, after it the next start drops their offsets."""
    with broker.consumer_offset_manager.kept_in_the_file():
        for topic in topics:
            _forget(broker, topic)
        await broker.store.make_deletions_last()
    await broker.consumer_offset_manager.persist()


def _forget(broker: Broker, topic: str) -> None:
    broker.store.delete_topic(topic)
    broker.consumer_offset_manager.remove_topic(topic)
    broker.rebalance_lock_manager.remove_topic(topic)
    broker.stats.forget_topic(topic)
    for group in broker.consumer_manager:
        for queue in [queue for queue in group.last_pulled_by if queue[0] == topic]:
            del group.last_pulled_by[queue]
    broker.pull_request_hold_service.wake_topic(topic)
