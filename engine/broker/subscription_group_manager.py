"""The consumer groups a broker has ever seen (RocketMQ: ``SubscriptionGroupManager``).

A group's configuration says whether it may consume and how often a message is retried. An unknown group gets the
defaults the first time it pulls, unless that is switched off. ``subscriptionGroup.json`` is written at every change.
"""

from __future__ import annotations

import logging

from engine.broker.broker_config import BrokerConfig
from engine.broker.config_table import read_data_version, undone_unless_saved
from engine.broker.errors import ConfigRefused, TooManyEntries
from engine.protocol.data_version import DataVersion
from engine.protocol.errors import ProtocolError
from engine.protocol.json_fields import as_object
from engine.protocol.names import SYSTEM_GROUPS, is_system_group, validate_group
from engine.protocol.subscription_group_config import SubscriptionGroupConfig
from engine.runtime.port import Clock
from engine.store.config_file import ConfigFile

logger = logging.getLogger("glassmq.broker")


class SubscriptionGroupManager:
    """Group name -> :class:`SubscriptionGroupConfig`."""

    def __init__(self, config: BrokerConfig, config_file: ConfigFile, clock: Clock) -> None:
        self.subscription_group_table = {name: SubscriptionGroupConfig(name) for name in SYSTEM_GROUPS}
        self.data_version = DataVersion(clock.now_ms())
        self._config = config
        self._config_file = config_file
        self._clock = clock

    def find_subscription_group_config(self, group: str) -> SubscriptionGroupConfig | None:
        """The group's configuration, created with the defaults if that is allowed; else None.

        Raises ``IllegalName`` for a name that cannot be a group.
        """
        known = self.subscription_group_table.get(group)
        if known is not None:
            return known
        if not (self._config.auto_create_subscription_group or is_system_group(group)):
            return None
        validate_group(group)
        config = SubscriptionGroupConfig(group)
        logger.info("group %s is created", group)
        self._put(config, counts_anyway=True)
        return config

    def update_subscription_group_config(self, config: SubscriptionGroupConfig) -> None:
        """A tool creates or changes a group. Raises ``IllegalName`` and :class:`ConfigRefused`."""
        self._check(config)
        logger.info("group %s is set: %s", config.group_name, config)
        self._put(config)

    def delete_subscription_group_config(self, group: str) -> bool:
        """Forget ``group``; False when nobody knew it. Raises :class:`ConfigNotSaved`."""
        table = self.subscription_group_table
        if group not in table:
            return False
        with undone_unless_saved(table, group):
            del table[group]
            self.data_version.next(self._clock.now_ms())
            self.persist()
        logger.info("group %s is deleted", group)
        return True

    def _check(self, config: SubscriptionGroupConfig) -> None:
        validate_group(config.group_name)
        limit = self._config.max_queue_nums_per_topic
        if not 0 <= config.retry_queue_nums <= limit:
            raise ConfigRefused(
                f"retryQueueNums {config.retry_queue_nums} of group {config.group_name}; allowed: 0 to {limit}"
            )
        if not -(1 << 31) <= config.retry_max_times < 1 << 31:
            raise ConfigRefused(
                f"retryMaxTimes {config.retry_max_times} of group {config.group_name} does not fit 32 bits"
            )

    def _put(self, config: SubscriptionGroupConfig, *, counts_anyway: bool = False) -> None:
        """Raises :class:`TooManyEntries`, and, unless it ``counts_anyway``, :class:`ConfigNotSaved`: then nothing has
        changed.
        """
        table, name = self.subscription_group_table, config.group_name
        if name not in table and len(table) >= self._config.max_subscription_groups:
            raise TooManyEntries("consumer groups", self._config.max_subscription_groups)
        with undone_unless_saved(table, name, counts_anyway=counts_anyway):
            table[name] = config
            self.data_version.next(self._clock.now_ms())
            self.persist()

    def to_dict(self) -> dict[str, object]:
        """The content of ``subscriptionGroup.json``."""
        return {
            "dataVersion": self.data_version.to_dict(),
            "subscriptionGroupTable": {
                name: config.to_dict() for name, config in self.subscription_group_table.items()
            },
        }

    def load(self) -> None:
        """Read ``subscriptionGroup.json``; a group in it that cannot be read is left out with a warning."""
        content = self._config_file.load()
        if content is None:
            return
        self.data_version = read_data_version(content, self.data_version)
        table = content.get("subscriptionGroupTable")
        for name, fields in table.items() if isinstance(table, dict) else ():
            try:
                config = SubscriptionGroupConfig.from_dict(as_object(fields))
                self._check(config)
            except ProtocolError as error:
                logger.warning("subscriptionGroup.json: group %s is left out: %s", name, error)
                continue
            self.subscription_group_table[config.group_name] = config

    def persist(self) -> None:
        """Write ``subscriptionGroup.json``."""
        self._config_file.save(self.to_dict())
