"""What goes with a topic (RocketMQ: ``AdminBrokerProcessor.deleteTopic``, ``DefaultMessageStore.cleanUnusedTopic``).

Its configuration, its consume queues with their files, its counters. Its messages stay in the commit log until they
expire, and can still be found by offset id or key. More than RocketMQ does:

* The offsets of all groups go too. RocketMQ keeps them: when the topic is made again its queues begin at 0, a group
  would go on at its old offset and never see the messages before it.
* Pulls that wait are answered (TOPIC_NOT_EXIST) instead of waiting for messages that cannot come.
* When the reply is sent, the deletion survives a crash: the queues do not come back from the commit log. And no
  registration that still names the topic is on its way: a name server that deletes it next (216) has it no more.

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

    Raises ``ConfigNotSaved`` (nothing was deleted then) and ``DiskFault``.
    """
    broker.topic_config_manager.delete_topic_config(topic)
    _forget(broker, topic)
    await broker.store.make_deletions_last()
    await broker.registration.told()


async def clean_unused_topics(broker: Broker) -> list[str]:
    """Delete the consume queues of topics that are not configured. Returns those topics. Raises ``DiskFault``."""
    manager = broker.topic_config_manager
    unused = [
        topic
        for topic in broker.store.topics()
        if topic not in manager.topic_config_table and not manager.is_system_topic(topic)
    ]
    for topic in unused:
        logger.info("topic %s is not configured: its consume queues are deleted", topic)
        _forget(broker, topic)
    if unused:
        await broker.store.make_deletions_last()
    return unused


def _forget(broker: Broker, topic: str) -> None:
    broker.store.delete_topic(topic)
    broker.consumer_offset_manager.remove_topic(topic)
    broker.rebalance_lock_manager.remove_topic(topic)
    broker.stats.forget_topic(topic)
    for group in broker.consumer_manager:
        for queue in [queue for queue in group.last_pulled_by if queue[0] == topic]:
            del group.last_pulled_by[queue]
    broker.pull_request_hold_service.wake_topic(topic)
    # Last: a disk that fails here must not leave half of it done.
    broker.consumer_offset_manager.persist()
