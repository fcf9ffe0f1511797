"""The configuration of a consumer group at a broker (RocketMQ: ``SubscriptionGroupConfig``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.body.json_body import JsonBody


@dataclass(slots=True)
class SubscriptionGroupConfig(JsonBody):
    """A consumer group's configuration, also an entry of ``subscriptionGroup.json``. Defaults are RocketMQ's.

    ``retry_max_times``: redeliveries before a message goes to the dead-letter topic. ``message_model`` is an addition:
    the model that the members last reported, if it is not clustering. RocketMQ ignores the field in its file and in
    replies to its tools.
    """

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True
    message_model: str | None = None
