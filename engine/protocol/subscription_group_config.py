"""What a broker knows of a consumer group (RocketMQ: ``SubscriptionGroupConfig``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.protocol.json_fields import get_boolean, get_integer, get_text


@dataclass(slots=True)
class SubscriptionGroupConfig:
    """Defaults are RocketMQ's. ``retry_max_times``: redeliveries before a message goes to the dead-letter topic."""

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire and of ``subscriptionGroup.json``."""
        return {
            "brokerId": self.broker_id,
            "consumeBroadcastEnable": self.consume_broadcast_enable,
            "consumeEnable": self.consume_enable,
            "consumeFromMinEnable": self.consume_from_min_enable,
            "groupName": self.group_name,
            "notifyConsumerIdsChangedEnable": self.notify_consumer_ids_changed_enable,
            "retryMaxTimes": self.retry_max_times,
            "retryQueueNums": self.retry_queue_nums,
            "whichBrokerWhenConsumeSlowly": self.which_broker_when_consume_slowly,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> SubscriptionGroupConfig:
        """Read the JSON object. Raises ``MalformedBody``."""
        return cls(
            group_name=get_text(fields, "groupName"),
            consume_enable=get_boolean(fields, "consumeEnable", True),
            consume_from_min_enable=get_boolean(fields, "consumeFromMinEnable", True),
            consume_broadcast_enable=get_boolean(fields, "consumeBroadcastEnable", True),
            retry_queue_nums=get_integer(fields, "retryQueueNums", 1),
            retry_max_times=get_integer(fields, "retryMaxTimes", 16),
            broker_id=get_integer(fields, "brokerId", 0),
            which_broker_when_consume_slowly=get_integer(fields, "whichBrokerWhenConsumeSlowly", 1),
            notify_consumer_ids_changed_enable=get_boolean(fields, "notifyConsumerIdsChangedEnable", True),
        )
