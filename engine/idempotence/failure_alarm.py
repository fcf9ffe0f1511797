"""Stop and alarm: a message whose work fails again and again suspends the consumer before more work is left half done.

::

    alarm = FailureAlarm(consumer, after=3)
    guard = IdempotentListener(runtime, alarm.guarded(work), ..., watcher=alarm)

It is meant for work that neither a transaction nor a compensation can repair: an operator has to look at it, repair
what is half done, and call ``consumer.resume()``. Messages that were pulled before, or are pending in a pull at a
broker, still reach the listener and are given back. RocketMQ has ``suspend``; its users decide when to call it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from engine.idempotence.foundation.errors import ComeAgainLater
from engine.idempotence.foundation.sql_port import SqlTransaction
from engine.idempotence.idempotent_listener import MessageWork
from engine.idempotence.strategies.strategy import DeliveryVerdict
from engine.protocol.message.message import MessageExt

if TYPE_CHECKING:
    from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer

_log = logging.getLogger("glassmq.idempotence")


class FailureAlarm:
    """Suspend a consumer after repeated failures; a :data:`~engine.idempotence.idempotent_listener.DeliveryWatcher`.
    Raises ``ValueError`` if ``after`` is less than 1.

    :param after: number of deliveries of one message, of which the last has failed (deliveries to other consumers
        included: the message carries the count).
    :ivar raised_for: business key of the last message that suspended the consumer, its id if it has no key; empty: no
        such message.
    """

    def __init__(self, consumer: DefaultMQPushConsumer, after: int) -> None:
        if after < 1:
            raise ValueError(f"after is at least 1, got {after}")
        self._consumer = consumer
        self._after = after
        self.raised_for = ""

    def guarded(self, work: MessageWork) -> Callable[[MessageExt, SqlTransaction | None], Awaitable[None]]:
        """Return ``work`` guarded: it does not start while the consumer is suspended, and its message is delivered
        again.
        """

        async def work_unless_suspended(message: MessageExt, transaction: SqlTransaction | None) -> None:
            if self._consumer.is_suspended:
                raise ComeAgainLater("consumption is suspended")
            await self._consumer.runtime.call_listener(work, message, transaction)

        return work_unless_suspended

    def __call__(self, message: MessageExt, key: str, verdict: DeliveryVerdict | None) -> None:
        """Note the outcome of a delivery."""
        failures = message.reconsume_times + 1
        if verdict is None and failures >= self._after and not self._consumer.is_suspended:
            self._consumer.suspend()
            self.raised_for = key or message.message_id
            why = "consumption is suspended: the work of %s has failed, this was delivery %d"
            _log.error(why, self.raised_for, failures)
