"""Switches for each mechanism that keeps the messages of a queue in order. RocketMQ has no such switches.

They show lessons and the search what breaks without a mechanism. The broker's lock has its switch at the broker
(:class:`~engine.broker.tables.rebalance_lock_manager.RebalanceLockManager`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.client.consumer.default_mq_push_consumer_impl import DefaultMQPushConsumerImpl


class OrderlySwitches:
    """The switches of one push consumer. They may be used before its start and while it runs."""

    def __init__(self, consumer: DefaultMQPushConsumerImpl) -> None:
        self._consumer = consumer

    @property
    def message_queue_lock(self) -> bool:
        """Return whether only one worker consumes a queue at a time."""
        return self._consumer.message_queue_lock.enabled

    @message_queue_lock.setter
    def message_queue_lock(self, on: bool) -> None:
        self._consumer.message_queue_lock.enabled = on

    @property
    def consume_lock(self) -> bool:
        """Return whether a queue cannot be released during a listener call."""
        return self._consumer.rebalance.consume_lock_enabled

    @consume_lock.setter
    def consume_lock(self, on: bool) -> None:
        self._consumer.rebalance.consume_lock_enabled = on

    @property
    def consuming_flag(self) -> bool:
        """Return whether only the first pull after a pause submits a consume request. Off: every pull submits one."""
        return not self._consumer.dispatch_per_pull

    @consuming_flag.setter
    def consuming_flag(self, on: bool) -> None:
        self._consumer.dispatch_per_pull = not on
