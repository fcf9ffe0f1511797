"""The topics of one broker (RocketMQ: ``TopicConfigManager``).

A topic is created in one of three ways: it is built in; a tool creates it; or a producer sends to an unknown topic. In
the last case the producer names a template (usually TBW102) and a number of queues; if the template's permission has
the inherit bit, the new topic gets the smaller of that number and the template's queues. Retry and dead-letter topics
are created when a group first needs them.

:mod:`engine.broker.tables.config_table` says when a change is in ``topics.json``; the name servers are notified
immediately.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.errors import BrokerConfigRefused
from engine.broker.tables.config_table import ConfigTable
from engine.protocol.body.bodies import TopicConfigSerializeWrapper
from engine.protocol.body.topic_config import DEFAULT_QUEUE_NUMS, TopicConfig
from engine.protocol.names import (
    AUTO_CREATE_TOPIC_KEY_TOPIC,
    BENCHMARK_TOPIC,
    OFFSET_MOVED_EVENT_TOPIC,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    SYSTEM_TOPICS,
    is_system_topic,
    reply_topic,
    validate_topic,
)
from engine.protocol.permission import PERM_INHERIT, PERM_READ_WRITE, is_inherited
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.runtime.port import Clock
from engine.store.files.config_file import ConfigFile

logger = logging.getLogger("glassmq.broker")

#: Bit of ``topicSysFlag``: the topic belongs to one unit of a deployment (``TopicSysFlag.FLAG_UNIT``).
TOPIC_SYS_FLAG_UNIT = 1

_BENCHMARK_QUEUE_NUMS = 1_024
#: All permission bits: priority, read, write, inherit.
_PERM_MASK = 0xF


class TopicConfigManager:
    """A table of :class:`TopicConfig` by topic name.

    :param config: names of cluster and broker, permissions and bounds.
    :param config_file: ``topics.json``.
    :param clock: for the table's version.
    :param schedule_queue_nums: the number of delay levels.
    :param on_change: called after every change, to notify the name servers.
    """

    def __init__(
        self,
        config: BrokerConfig,
        config_file: ConfigFile,
        clock: Clock,
        schedule_queue_nums: int,
        on_change: Callable[[], None],
    ) -> None:
        self.table = ConfigTable[TopicConfig](
            config_file, "topicConfigTable", "topics", clock, config.max_topics, config.flush_config_interval_ms
        )
        self.topic_config_table = self.table.entries
        self._config = config
        self._on_change = on_change
        self._make_system_topics(schedule_queue_nums)

    def _make_system_topics(self, schedule_queue_nums: int) -> None:
        config = self._config
        cluster_perm = PERM_INHERIT | (PERM_READ_WRITE if config.cluster_topic_enable else 0)
        broker_perm = PERM_INHERIT | (PERM_READ_WRITE if config.broker_topic_enable else 0)
        topics = [
            (SELF_TEST_TOPIC, 1, PERM_READ_WRITE),
            (BENCHMARK_TOPIC, _BENCHMARK_QUEUE_NUMS, PERM_READ_WRITE),
            # Tools ask for the route of a topic named like the cluster before they create one.
            (config.cluster_name, DEFAULT_QUEUE_NUMS, cluster_perm),
            (config.broker_name, 1, broker_perm),
            (OFFSET_MOVED_EVENT_TOPIC, 1, PERM_READ_WRITE),
            (SCHEDULE_TOPIC, schedule_queue_nums, PERM_READ_WRITE),
            (reply_topic(config.cluster_name), 1, PERM_READ_WRITE),
        ]
        if config.auto_create_topic_enable:
            perm = PERM_READ_WRITE | PERM_INHERIT
            topics.append((AUTO_CREATE_TOPIC_KEY_TOPIC, config.default_topic_queue_nums, perm))
        if config.trace_topic_enable:
            topics.append((config.msg_trace_topic_name, 1, PERM_READ_WRITE))
        for name, queue_nums, perm in topics:
            self.topic_config_table[name] = TopicConfig(name, queue_nums, queue_nums, perm)

    # ------------------------------------------------------------------------------ queries

    def select_topic_config(self, topic: str) -> TopicConfig | None:
        """Return the configuration of ``topic``, or None if the topic is unknown."""
        return self.topic_config_table.get(topic)

    def known_topic(self, topic: str) -> TopicConfig:
        """Return the configuration of ``topic``. Raises :class:`RequestRefused` if it is unknown."""
        config = self.topic_config_table.get(topic)
        if config is None:
            raise RequestRefused(f"topic {topic!r} does not exist on this broker", ResponseCode.TOPIC_NOT_EXIST)
        return config

    def is_order_topic(self, topic: str) -> bool:
        """Return True for a topic that was created for strict order."""
        config = self.topic_config_table.get(topic)
        return config is not None and config.order

    def is_system_topic(self, topic: str) -> bool:
        """Return True for topics that are internal to the broker."""
        return is_system_topic(topic) or topic in self._names_of_its_own

    def system_topics(self) -> list[str]:
        """Return the topics that exist on every broker, and those named after this one and its cluster."""
        return [*SYSTEM_TOPICS, *self._names_of_its_own]

    @property
    def _names_of_its_own(self) -> tuple[str, str, str]:
        config = self._config
        return config.cluster_name, config.broker_name, reply_topic(config.cluster_name)

    def to_wrapper(self) -> TopicConfigSerializeWrapper:
        """Return all topics with the table's version, as they are stored and as tools see them."""
        return TopicConfigSerializeWrapper(dict(self.topic_config_table), self.table.data_version)

    def registration(self) -> TopicConfigSerializeWrapper:
        """Return all topics for the name servers; a restricted broker permission replaces that of each topic."""
        wrapper = self.to_wrapper()
        perm = self._config.broker_permission
        if perm & PERM_READ_WRITE != PERM_READ_WRITE:
            table = wrapper.topic_config_table
            wrapper.topic_config_table = {name: replace(config, perm=perm) for name, config in table.items()}
        return wrapper

    # ------------------------------------------------------------------------------ creation

    def create_topic_in_send_message(
        self, topic: str, default_topic: str, remote_address: str, client_queue_nums: int, topic_sys_flag: int
    ) -> TopicConfig | None:
        """Create ``topic``, to which a producer sends, from the template ``default_topic``.

        Returns None if the template is missing or not inheritable. A producer that requests no queue at all gets
        one: RocketMQ would create a topic without queues for sending.
        """
        known = self.topic_config_table.get(topic)
        if known is not None:
            return known
        template = self.topic_config_table.get(default_topic)
        if default_topic == AUTO_CREATE_TOPIC_KEY_TOPIC and not self._config.auto_create_topic_enable:
            template = None  # the file may still contain it from a run in which it was allowed
        if template is None or not is_inherited(template.perm):
            logger.warning("%s sends to unknown topic %s, template %s", remote_address, topic, default_topic)
            return None
        queue_nums = max(1, min(client_queue_nums, template.write_queue_nums))
        config = TopicConfig(
            topic, queue_nums, queue_nums, template.perm & ~PERM_INHERIT, template.topic_filter_type, topic_sys_flag
        )
        self._make(config)
        logger.info("topic %s is created with %d queues: %s sends to it", topic, queue_nums, remote_address)
        return config

    def create_topic_in_send_message_back(
        self, topic: str, queue_nums: int, perm: int = PERM_READ_WRITE, topic_sys_flag: int = 0
    ) -> TopicConfig:
        """Return the retry or dead-letter topic ``topic``, created if need be. Raises ``IllegalName``."""
        known = self.topic_config_table.get(topic)
        if known is not None:
            return known
        validate_topic(topic)
        config = TopicConfig(topic, queue_nums, queue_nums, perm, topic_sys_flag=topic_sys_flag)
        self._make(config)
        logger.info("topic %s is created with %d queues", topic, queue_nums)
        return config

    def _make(self, config: TopicConfig) -> None:
        """Create a topic. Raises ``TooManyEntries``."""
        self.table.put(config.topic_name, config)
        self._on_change()

    async def update_topic_config(self, config: TopicConfig) -> None:
        """Create or change a topic for a tool. Raises :class:`BrokerConfigRefused` for invalid values, and as the
        table.
        """
        self.check(config)
        verb = "changed" if config.topic_name in self.topic_config_table else "created"
        await self.table.change(config.topic_name, config)
        self._on_change()
        logger.info("topic %s is %s: %s", config.topic_name, verb, config)

    def make_template_topic(self) -> None:
        """Allow the creation of topics on demand from now on. Raises ``TooManyEntries``."""
        if AUTO_CREATE_TOPIC_KEY_TOPIC not in self.topic_config_table:
            queue_nums = self._config.default_topic_queue_nums
            self._make(TopicConfig(AUTO_CREATE_TOPIC_KEY_TOPIC, queue_nums, queue_nums, PERM_READ_WRITE | PERM_INHERIT))

    def permission_changed(self) -> None:
        """Notify the name servers that the permission of the whole broker was changed."""
        self.table.touch()
        self._on_change()

    async def delete_topic_config(self, topic: str) -> None:
        """Delete ``topic``, if it is known. Raises ``ConfigNotSaved``.

        At the name servers the topic stays until DELETE_TOPIC_IN_NAMESRV, as in RocketMQ. They are notified all the
        same, so that no earlier registration arrives after that.
        """
        if topic in self.topic_config_table:
            await self.table.change(topic, None)
            self._on_change()
            logger.info("topic %s is deleted", topic)

    def check(self, config: TopicConfig) -> None:
        """Raise :class:`BrokerConfigRefused` or ``IllegalName`` for an invalid configuration."""
        validate_topic(config.topic_name)
        limit = self._config.max_queue_nums_per_topic
        for name, queue_nums in (
            ("readQueueNums", config.read_queue_nums),
            ("writeQueueNums", config.write_queue_nums),
        ):
            if not 0 <= queue_nums <= limit:
                raise BrokerConfigRefused(f"{name} {queue_nums} of topic {config.topic_name}; allowed: 0 to {limit}")
        if config.perm & ~_PERM_MASK:
            raise BrokerConfigRefused(
                f"perm {config.perm} of topic {config.topic_name}; allowed: 2 (W), 4 (R), 6 (RW), plus 1 (inherit)"
            )
        if config.topic_filter_type not in ("SINGLE_TAG", "MULTI_TAG"):
            raise BrokerConfigRefused(
                f"topicFilterType {config.topic_filter_type[:40]!r}; allowed: SINGLE_TAG, MULTI_TAG"
            )

    # ------------------------------------------------------------------------------ file

    def load(self) -> None:
        """Read ``topics.json``; unreadable topics are left out with a warning."""
        self.table.load(self._parse)

    def take_over(self, content: dict[str, Any]) -> None:
        """Replace the table by a copy of another broker's, in the file's format."""
        self.table.take_over(content, self._parse)

    def _parse(self, fields: dict[str, Any]) -> tuple[str, TopicConfig]:
        config = TopicConfig.from_dict(fields)
        self.check(config)
        return config.topic_name, config

    def restore_topics(self, queue_counts: Mapping[str, int]) -> None:
        """Create the unknown topics that have messages: ``topics.json`` was lost, or its backup is older than they are.

        RocketMQ leaves their messages inaccessible until the topic is created.

        :param queue_counts: topic -> the number of queues that its messages need.
        """
        missing: dict[str, TopicConfig] = {}
        for topic in queue_counts:
            if topic in self.topic_config_table:
                continue
            # A damaged queue id in the log must not create a topic with a billion queues.
            queue_nums = min(queue_counts[topic], self._config.max_queue_nums_per_topic)
            logger.warning(
                "topic %s has messages but topics.json does not know it: it is created again with %d queues",
                topic,
                queue_nums,
            )
            missing[topic] = TopicConfig(topic, queue_nums, queue_nums, PERM_READ_WRITE)
        if missing:
            self.table.put_now(missing)
