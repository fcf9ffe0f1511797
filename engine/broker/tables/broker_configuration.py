"""The settings of a running broker (RocketMQ: ``Configuration``; here for ``BrokerConfig`` and ``MessageStoreConfig``
together).

Only settings in :data:`CHANGEABLE` can change; the others are only used at the start, so a change would be shown but
have no effect. RocketMQ accepts any known name, ignores unknown ones and applies every value that parses; here one bad
entry refuses them all.

A change survives the process: ``config/brokerConfig.json`` records the old and the new value of each setting. The next
start uses the new value if the broker is started with the old one, and discards it otherwise: the last change wins, be
it by the tool that changed the setting or by starting the broker with another value.
"""

from __future__ import annotations

import dataclasses
import difflib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.broker_config import BrokerConfig, java_name, java_value
from engine.broker.foundation.errors import ConfigNotSaved
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.protocol.body.data_version import DataVersion
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.runtime.port import Clock, DiskFault
from engine.store.files.config_file import ConfigFile
from engine.store.files.store_config import MessageStoreConfig, hours_of_day

logger = logging.getLogger("glassmq.broker")

_INT32_MAX = (1 << 31) - 1
_DAY_MS = 86_400_000
_BOOLEANS = {"true": True, "false": False}
#: Settings that this broker does not have, under RocketMQ's names: ``exportConfigs`` of mqadmin stops at the first
#: missing one. ``useTLS`` cannot be switched there either; the server accepts both kinds of connections.
_FIXED = {"filterServerNums": "0", "useTLS": "false"}


class _BadValue(Exception):
    """The text is not a valid value of the setting; the error says what is allowed."""


def _boolean(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise _BadValue("allowed: true, false")
    return _BOOLEANS[text.lower()]


def _integer(low: int, high: int = _INT32_MAX) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and low <= int(text) <= high):
            raise _BadValue(f"allowed: an integer from {low} to {high}")
        return int(text)

    return parse


def _percent(text: str) -> float:
    # RocketMQ accepts any number and uses 10 for less and 95 for more.
    return _integer(10, 95)(text) / 100


def _hours_of_day(text: str) -> str:
    if not hours_of_day(text):
        raise _BadValue("allowed: hours from 0 to 23, such as 04 or 04;16")
    return ";".join(word.strip() for word in text.split(";") if word.strip())


@dataclass(frozen=True, slots=True)
class Changeable:
    """A setting that can change: the configuration and attribute that contain it, and how its text is parsed."""

    attribute: str
    parse: Callable[[str], object]
    is_of_store: bool = False


def _store(attribute: str, parse: Callable[[str], object]) -> Changeable:
    return Changeable(attribute, parse, is_of_store=True)


#: RocketMQ's name -> the setting that it changes.
CHANGEABLE: Mapping[str, Changeable] = {
    "autoCreateSubscriptionGroup": Changeable("auto_create_subscription_group", _boolean),
    "autoCreateTopicEnable": Changeable("auto_create_topic_enable", _boolean),
    "brokerPermission": Changeable("broker_permission", _integer(0, 7)),
    "defaultQueryMaxNum": Changeable("default_query_max_num", _integer(1)),
    "longPollingEnable": Changeable("long_polling_enable", _boolean),
    "notifyConsumerIdsChangedEnable": Changeable("notify_consumer_ids_changed_enable", _boolean),
    "offsetMovedEventEnable": Changeable("offset_moved_event_enable", _boolean),
    "registerBrokerTimeoutMills": Changeable("register_broker_timeout_mills", _integer(1, _DAY_MS)),
    "registerNameServerPeriod": Changeable("register_name_server_period_ms", _integer(1_000, _DAY_MS)),
    "rejectTransactionMessage": Changeable("reject_transaction_message", _boolean),
    "shortPollingTimeMills": Changeable("short_polling_time_mills", _integer(1, _DAY_MS)),
    "transactionCheckMax": Changeable("transaction_check_max", _integer(0)),
    "transactionTimeOut": Changeable("transaction_time_out_ms", _integer(0, 30 * _DAY_MS)),
    "cleanFileForciblyMinAge": _store("clean_file_forcibly_min_age_hours", _integer(0)),
    "deleteWhen": _store("delete_when", _hours_of_day),
    "diskMaxUsedSpaceRatio": _store("disk_max_used_space_ratio", _percent),
    "fileReservedTime": _store("file_reserved_time_hours", _integer(0)),
    "flushCommitLogLeastPages": _store("flush_commit_log_least_pages", _integer(0)),
    "flushCommitLogThoroughInterval": _store("flush_commit_log_thorough_interval_ms", _integer(1, _DAY_MS)),
    "flushConsumeQueueLeastPages": _store("flush_consume_queue_least_pages", _integer(0)),
    "flushConsumeQueueThoroughInterval": _store("flush_consume_queue_thorough_interval_ms", _integer(1, _DAY_MS)),
    "maxMsgsNumBatch": _store("max_messages_num_batch", _integer(1)),
    "maxTransferBytesOnMessageInDisk": _store("max_transfer_bytes_on_message_in_disk", _integer(1)),
    "maxTransferBytesOnMessageInMemory": _store("max_transfer_bytes_on_message_in_memory", _integer(1)),
    "maxTransferCountOnMessageInDisk": _store("max_transfer_count_on_message_in_disk", _integer(1)),
    "maxTransferCountOnMessageInMemory": _store("max_transfer_count_on_message_in_memory", _integer(1)),
}


@dataclass
class BrokerConfiguration:
    """The changeable configuration of one broker.

    :param config: the broker's own copy, which is not shared; the same holds for ``store_config``.
    :param config_file: ``brokerConfig.json``.
    :param topics: the topic table, which some changes affect.
    """

    config: BrokerConfig
    store_config: MessageStoreConfig
    config_file: ConfigFile
    address: BrokerAddress
    topics: TopicConfigManager
    clock: Clock

    def __post_init__(self) -> None:
        self.data_version = DataVersion(self.clock.now_ms())
        #: Name -> (value at the start, value now), as texts; only what tools have changed.
        self._changes: dict[str, tuple[str, str]] = {}

    # ------------------------------------------------------------------------------ reading

    def settings(self) -> dict[str, str]:
        """Return the settings of broker and store under RocketMQ's names, with the address that is really bound."""
        store_config = self.store_config
        settings = {
            java_name(field.name): java_value(getattr(store_config, field.name))
            for field in dataclasses.fields(store_config)
        }
        # RocketMQ counts or names these differently than this store.
        settings["mappedFileSizeConsumeQueue"] = str(store_config.mapped_file_size_consume_queue)
        settings["maxMsgsNumBatch"] = settings.pop("maxMessagesNumBatch")
        for name in ("fileReservedTime", "cleanFileForciblyMinAge"):
            settings[name] = settings.pop(f"{name}Hours")
        settings["diskMaxUsedSpaceRatio"] = str(round(store_config.disk_max_used_space_ratio * 100))
        settings |= self.config.to_properties()
        ip, _, port = self.address.text.rpartition(":")
        return settings | {"brokerIP1": ip, "listenPort": port} | _FIXED

    # ------------------------------------------------------------------------------ changing

    def update(self, wanted: Mapping[str, str]) -> None:
        """Change settings, all or none. Raises :class:`RequestRefused` and :class:`ConfigNotSaved`."""
        values = self._parsed(wanted)
        before = self.settings()
        old_values = {name: getattr(self._owner(name), CHANGEABLE[name].attribute) for name in values}
        old_changes = dict(self._changes)
        self._apply(values)
        after = self.settings()
        for name in values:
            first = self._changes.get(name, (before[name], ""))[0]
            self._changes[name] = (first, after[name])
        try:
            self._save()
        except DiskFault as fault:
            self._apply(old_values)
            self._changes = old_changes
            raise ConfigNotSaved(f"the settings could not be saved: {fault}") from fault
        for name in values:
            logger.info("setting %s is changed from %s to %s", name, before[name], after[name])
        self.data_version.next(self.clock.now_ms())
        self._after_change(values)

    def _parsed(self, wanted: Mapping[str, str]) -> dict[str, object]:
        known = self.settings()
        values: dict[str, object] = {}
        for name, text in wanted.items():
            setting = CHANGEABLE.get(name)
            if setting is None and name in known:
                raise RequestRefused(
                    f"{name} can only be given when the broker starts; while it runs these can change: "
                    + ", ".join(CHANGEABLE),
                    ResponseCode.NO_PERMISSION,
                )
            if setting is None:
                close = difflib.get_close_matches(name, CHANGEABLE, n=1)
                hint = f"did you mean {close[0]}?" if close else f"these can change: {', '.join(CHANGEABLE)}"
                raise RequestRefused(f"there is no setting {name[:100]!r}; {hint}")
            try:
                values[name] = setting.parse(text.strip())
            except _BadValue as error:
                raise RequestRefused(f"{name}={text[:100]!r}: {error}") from error
        return values

    def _owner(self, name: str) -> Any:
        return self.store_config if CHANGEABLE[name].is_of_store else self.config

    def _apply(self, values: Mapping[str, object]) -> None:
        for name, value in values.items():
            setattr(self._owner(name), CHANGEABLE[name].attribute, value)

    def _after_change(self, values: Mapping[str, object]) -> None:
        if values.get("autoCreateTopicEnable"):
            self.topics.make_template_topic()
        if "brokerPermission" in values:
            self.topics.permission_changed()

    # ------------------------------------------------------------------------------ file

    def load(self) -> None:
        """Read ``brokerConfig.json`` and apply the changes that are still valid."""
        content = self.config_file.load()
        changes = None if content is None else content.get("changes")
        if not isinstance(changes, dict):
            return
        now = self.settings()
        for name, change in changes.items():
            first, last = (change.get("from"), change.get("to")) if isinstance(change, dict) else (None, None)
            if name not in CHANGEABLE or not isinstance(first, str) or not isinstance(last, str):
                logger.warning("brokerConfig.json: %s is left out: it cannot change", name)
                self.config_file.keep_aside()
            elif now[name] != first:
                logger.warning(
                    "setting %s: a tool changed it from %s to %s, but the broker is started with %s, which counts",
                    name,
                    first,
                    last,
                    now[name],
                )
            else:
                self._take(name, first, last)

    def _take(self, name: str, first: str, last: str) -> None:
        try:
            self._apply({name: CHANGEABLE[name].parse(last)})
        except _BadValue as error:
            logger.warning("brokerConfig.json: %s is left out: %s", name, error)
            self.config_file.keep_aside()
            return
        self._changes[name] = (first, last)
        logger.info("setting %s is %s, as a tool changed it (from %s)", name, last, first)

    def _save(self) -> None:
        changes = {name: {"from": first, "to": last} for name, (first, last) in self._changes.items() if first != last}
        self.config_file.save({"changes": changes})
