"""Stop and alarm: a message whose work fails again and again stops the consumer, before more is done by halves.

::

    alarm = FailureAlarm(consumer, after=3)
    guard = IdempotentListener(runtime, alarm.guarded(work), ..., watcher=alarm)

For work that neither a transaction nor a compensation makes good: somebody has to look, put right what is half done,
and call ``consumer.resume()``. What was pulled before, or waits at a broker in a pull, still comes to the listener: it
is given back. RocketMQ has ``suspend``; when to call it is up to its user.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from engine.idempotence.foundation.errors import ComeAgainLater
from engine.idempotence.foundation.sql_port import SqlTransaction
from engine.idempotence.idempotent_listener import MessageWork
from engine.idempotence.strategies.strategy import Verdict
from engine.protocol.message.message import MessageExt

if TYPE_CHECKING:
    from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer

_log = logging.getLogger("glassmq.idempotence")


class FailureAlarm:
    """A :data:`~engine.idempotence.idempotent_listener.DeliveryWatcher`. Raises ``ValueError`` for less than 1.

    :param after: so many deliveries of one message, of which the last has failed (at other consumers, too: the message
        carries the count).
    :ivar raised_for: the business key of the message that has stopped it last, its id where it has none; empty:
        none has.
    """

    def __init__(self, consumer: DefaultMQPushConsumer, after: int) -> None:
        if after < 1:
            raise ValueError(f"after is at least 1, got {after}")
        self._consumer = consumer
        self._after = after
        self.raised_for = ""

    def guarded(self, work: MessageWork) -> Callable[[MessageExt, SqlTransaction | None], Awaitable[None]]:
        """``work``, which is not begun while the consumer is suspended: its message comes again."""

        async def work_unless_suspended(message: MessageExt, transaction: SqlTransaction | None) -> None:
            if self._consumer.is_suspended:
                raise ComeAgainLater("consumption is suspended")
            await self._consumer.runtime.call_listener(work, message, transaction)

        return work_unless_suspended

    def __call__(self, message: MessageExt, key: str, verdict: Verdict | None) -> None:
        """What became of a delivery."""
        failures = message.reconsume_times + 1
        if verdict is None and failures >= self._after and not self._consumer.is_suspended:
            self._consumer.suspend()
            self.raised_for = key or message.message_id
            why = "consumption is suspended: the work of %s has failed, this was delivery %d"
            _log.error(why, self.raised_for, failures)
