"""The consumer groups that a broker has seen so far (RocketMQ: ``SubscriptionGroupManager``).

A group's configuration says whether it may consume and how often a message is retried. An unknown group gets the
defaults the first time it pulls, unless that is switched off. Added: the table remembers which groups broadcast, even
while they are offline and after a restart, because their stored offsets are meaningless.
:mod:`engine.broker.tables.config_table` says when a change is in ``subscriptionGroup.json``.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.errors import BrokerConfigRefused
from engine.broker.tables.config_table import ConfigTable
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig
from engine.protocol.enums import MessageModel
from engine.protocol.names import SYSTEM_GROUPS, is_system_group, validate_group
from engine.runtime.port import Clock
from engine.store.files.config_file import ConfigFile

logger = logging.getLogger("glassmq.broker")


class SubscriptionGroupManager:
    """A table of :class:`SubscriptionGroupConfig` by group name."""

    def __init__(self, config: BrokerConfig, config_file: ConfigFile, clock: Clock) -> None:
        self.table = ConfigTable[SubscriptionGroupConfig](
            config_file,
            "subscriptionGroupTable",
            "consumer groups",
            clock,
            config.max_subscription_groups,
            config.flush_config_interval_ms,
        )
        self.subscription_group_table = self.table.entries
        for name in SYSTEM_GROUPS:
            self.subscription_group_table[name] = SubscriptionGroupConfig(name)
        self._config = config

    def find_subscription_group_config(self, group: str) -> SubscriptionGroupConfig | None:
        """Return the group's configuration, created with the defaults if that is allowed; else None.

        Raises ``IllegalName`` for a name that cannot be a group, and :class:`TooManyEntries`.
        """
        known = self.subscription_group_table.get(group)
        if known is not None:
            return known
        if not (self._config.auto_create_subscription_group or is_system_group(group)):
            return None
        validate_group(group)
        config = SubscriptionGroupConfig(group)
        self.table.put(group, config)
        logger.info("group %s is created", group)
        return config

    def note_message_model(self, group: str, model: MessageModel) -> None:
        """Record the message model that a member of ``group`` reports. An unknown group is ignored."""
        known = self.subscription_group_table.get(group)
        remembered = None if model is MessageModel.CLUSTERING else str(model)
        if known is not None and known.message_model != remembered:
            self.table.put(group, dataclasses.replace(known, message_model=remembered))
            logger.info("the members of group %s are %s", group, model)

    def is_broadcasting(self, group: str) -> bool:
        """Return True if each member of the group gets all messages and keeps its own offsets.

        This is the single rule for lag: offsets stored for such a group are not its progress, and it has no lag at the
        broker.
        """
        known = self.subscription_group_table.get(group)
        return known is not None and known.message_model == MessageModel.BROADCASTING

    async def update_subscription_group_config(self, config: SubscriptionGroupConfig) -> None:
        """Create or change a group for a tool. Raises ``IllegalName``, :class:`BrokerConfigRefused` and as the table
        does.
        """
        self.check(config)
        known = self.subscription_group_table.get(config.group_name)
        if known is not None:
            config = dataclasses.replace(config, message_model=known.message_model)
        await self.table.change(config.group_name, config)
        logger.info("group %s is set: %s", config.group_name, config)

    async def delete_subscription_group_config(self, group: str) -> bool:
        """Delete ``group``; return False if it is unknown. Raises ``ConfigNotSaved``."""
        if group not in self.subscription_group_table:
            return False
        await self.table.change(group, None)
        logger.info("group %s is deleted", group)
        return True

    def check(self, config: SubscriptionGroupConfig) -> None:
        """Raise ``IllegalName`` or :class:`BrokerConfigRefused` for an invalid configuration."""
        validate_group(config.group_name)
        limit = self._config.max_queue_nums_per_topic
        if not 0 <= config.retry_queue_nums <= limit:
            raise BrokerConfigRefused(
                f"retryQueueNums {config.retry_queue_nums} of group {config.group_name}; allowed: 0 to {limit}"
            )
        if not -(1 << 31) <= config.retry_max_times < 1 << 31:
            raise BrokerConfigRefused(
                f"retryMaxTimes {config.retry_max_times} of group {config.group_name} does not fit 32 bits"
            )

    def load(self) -> None:
        """Read ``subscriptionGroup.json``; unreadable groups are left out with a warning."""
        self.table.load(self._parse)

    def take_over(self, content: dict[str, Any]) -> None:
        """Replace the table by a copy of another broker's, in the file's format."""
        self.table.take_over(content, self._parse)

    def _parse(self, fields: dict[str, Any]) -> tuple[str, SubscriptionGroupConfig]:
        config = SubscriptionGroupConfig.from_dict(fields)
        self.check(config)
        return config.group_name, config
