"""A listener that does the work of each message once::

    async with open_store("sqlite:orders.db") as store:
        strategy = StateTable(store.records, consumer.runtime.clock)
        guard = IdempotentListener(consumer.runtime, place_order, strategy, "shop", key=user_property("orderId"))
        await guard.prepare()
        guard.register(consumer)              # or: consumer.register_message_listener(guard.concurrently)

``place_order(message, transaction)`` is the work of one message, whatever the size of its batch; it raises if the
message must be delivered again. ``transaction`` is that of the strategy, None if it has none. A plain function may
block: live it runs in a thread, as a listener does. :func:`work_of` makes such a function from an existing listener.

A batch is processed message by message. Concurrent: if some messages must be delivered again, all from the first of
these on are (RocketMQ acknowledges only the beginning of a batch); those that are done are then swallowed. Orderly: the
whole batch is delivered again, and nothing after the first failed message is processed, so that the order is kept.

RocketMQ has no such feature; its users know RocketMQDedupListener, a library by another author.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus
from engine.client.callbacks.consume_orderly import ConsumeOrderlyContext, ConsumeOrderlyStatus
from engine.idempotence.foundation.business_key import (
    KEY_MAX_LENGTH,
    KeyOf,
    checked_key,
    digest_of,
    name_of,
    unique_id,
)
from engine.idempotence.foundation.counters import IDEMPOTENCE_PROPERTY, IdempotenceCounters
from engine.idempotence.foundation.errors import AlreadyDone, ComeAgainLater, KeyUnusable, StoreUnreachable
from engine.idempotence.foundation.record import DEFAULT_EXPIRY_MS, Claim, RecordKey
from engine.idempotence.foundation.sql_port import SqlTransaction
from engine.idempotence.strategies.strategy import DeliveryVerdict, Strategy
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.message.message import MessageExt

if TYPE_CHECKING:
    from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
    from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.idempotence")

#: Records beyond their retention are deleted once per this many deliveries.
PURGE_EVERY = 1_000

#: The work of one message; it raises if the message must be delivered again.
MessageWork = Callable[[MessageExt, SqlTransaction | None], Awaitable[None] | None]

#: Results of a listener that has done its work.
_DONE = (ConsumeConcurrentlyStatus.CONSUME_SUCCESS, ConsumeOrderlyStatus.SUCCESS, ConsumeOrderlyStatus.COMMIT)

#: Called with the outcome of each delivery as soon as it is known; None: the work or the store has failed.
DeliveryWatcher = Callable[[MessageExt, str, "DeliveryVerdict | None"], None]


class WhenUnreachable(StrEnum):
    """Behaviour while the store does not answer."""

    #: Fail closed: the message is delivered again. Nothing is done twice, and no work is done.
    COME_AGAIN = "come-again"
    #: Fail open: do the work unguarded. Nothing waits, and duplicates get through. Not for strategies with a
    #: transaction.
    WORK = "work"


class IdempotentListener:
    """A listener that does the work of each message once, as the module shows.

    :param scope: owner of the records: the consumer group. For a deliberate replay (an offset reset) of work whose keys
        are remembered, another scope, such as ``shop#2``.
    :param key: returns the key of the work; the unique id only identifies copies of one send.
    :param checks_body: a key that comes with another body is refused and reported.
    :ivar counters: counts of the outcomes.
    :ivar under_way: attempts in progress: owner's token -> claim.
    """

    def __init__(
        self,
        runtime: Runtime,
        work: MessageWork,
        strategy: Strategy,
        scope: str,
        key: KeyOf = unique_id,
        expiry_ms: int = DEFAULT_EXPIRY_MS,
        when_unreachable: WhenUnreachable = WhenUnreachable.COME_AGAIN,
        *,
        checks_body: bool = True,
        watcher: DeliveryWatcher | None = None,
    ) -> None:
        if expiry_ms < 1:
            raise ValueError(f"expiry_ms is at least 1, got {expiry_ms}")
        if strategy.has_transaction and when_unreachable is WhenUnreachable.WORK:
            raise ValueError(f"{strategy.name} cannot fail open: its work needs the transaction; fail closed instead")
        self.strategy = strategy
        self.scope = checked_key(scope)
        self.expiry_ms = expiry_ms
        self.counters = IdempotenceCounters()
        self.under_way: dict[str, RecordKey] = {}
        self._runtime = runtime
        self._random = runtime.random_for("owners of idempotence records")
        self._work = work
        self._key_of = key
        self._when_unreachable = when_unreachable
        self._checks_body = checks_body
        self._watcher = watcher
        self._deliveries = 0

    async def prepare(self) -> None:
        """Create the tables. Raises :class:`~.foundation.errors.StoreUnreachable`, ``SchemaOutdated``."""
        await self.strategy.prepare()

    def register(self, consumer: DefaultMQPushConsumer, *, orderly: bool = False) -> None:
        """Register as the listener of ``consumer``, whose running info (307) then includes the counters.

        Logs a warning if the consumer's timeout and the expiry do not fit together, for strategies whose records expire
        during the work.
        """
        timeout_ms = consumer.config.consume_timeout_ms
        has_expiry = self.strategy.records is not None and not self.strategy.has_transaction
        if has_expiry and self.expiry_ms < timeout_ms:
            _log.warning(
                "records expire after %d ms, but a listener may take %d ms (consume_timeout_ms) until its message is "
                "sent back: a duplicate that arrives in between is processed at the same time",
                self.expiry_ms,
                timeout_ms,
            )
        consumer.report(IDEMPOTENCE_PROPERTY, self.report_json)
        if orderly:
            consumer.register_message_listener_orderly(self.orderly)
        else:
            consumer.register_message_listener(self.concurrently)

    def report_json(self) -> str:
        """Return the configuration and the counters as JSON text."""
        reported = {
            "strategy": self.strategy.name,
            "scope": self.scope,
            "key": name_of(self._key_of),
            "expiryMs": self.expiry_ms,
            "whenUnreachable": self._when_unreachable.value,
            "counters": self.counters.to_dict(),
        }
        return dumps_json(reported).decode()

    # --- as a listener -----------------------------------------------------------------------------------------------

    async def concurrently(
        self, messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus:
        """Consume a batch as a ``MessageListenerConcurrently``."""
        first_again: int | None = None
        for index, message in enumerate(messages):
            if not await self.consume(message) and first_again is None:
                first_again = index
        if first_again == 0:
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        if first_again is not None:
            context.ack_index = first_again - 1
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def orderly(self, messages: Sequence[MessageExt], context: ConsumeOrderlyContext) -> ConsumeOrderlyStatus:
        """Consume a batch as a ``MessageListenerOrderly``."""
        for message in messages:
            if not await self.consume(message):
                return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
        return ConsumeOrderlyStatus.SUCCESS

    async def consume(self, message: MessageExt) -> bool:
        """Process one delivery. Return whether it may be acknowledged."""
        key, verdict = "", None
        self._deliveries += 1
        try:
            if self._deliveries % PURGE_EVERY == 0:
                await self._purge()
            key = checked_key(self._key_of(message))
            verdict = await self._run(message, key)
        except KeyUnusable as error:
            self.counters.unusable_keys += 1
            _log.warning("not consumed, will be redelivered: %s", error)
        except StoreUnreachable as error:
            self.counters.store_errors += 1
            _log.warning("%s will be redelivered, the store did not answer: %s", key, error)
        except AlreadyDone:  # the strategy does not handle it, or there was no call of a strategy
            verdict = DeliveryVerdict.SWALLOWED
            self.counters.swallowed += 1
        except ComeAgainLater:
            self.counters.failed += 1
        except Exception as error:
            self.counters.failed += 1
            _log.warning("the work of %s has failed and will be retried: %s: %s", key, type(error).__name__, error)
        else:
            self._count(key, verdict)
        message.is_swallowed = verdict is DeliveryVerdict.SWALLOWED
        if self._watcher is not None:
            self._watcher(message, key, verdict)
        return verdict is not None and verdict.is_acknowledged

    async def _purge(self) -> None:
        """Delete old records. A failure is ignored: the delivery succeeded anyway."""
        if self.strategy.records is None:
            return
        try:
            await self.strategy.records.purge(self._runtime.clock.now_ms())
        except StoreUnreachable as error:
            self.counters.store_errors += 1
            _log.warning("expired records could not be removed: %s", error)

    async def _run(self, message: MessageExt, key: str) -> DeliveryVerdict:
        claim = Claim(
            key=RecordKey(self.scope, key),
            owner=f"{self._random.getrandbits(64):016x}",
            digest=digest_of(message.body) if self._checks_body else "",
            message_id=message.message_id[:KEY_MAX_LENGTH],  # a client may have set any length
            now_ms=self._runtime.clock.now_ms(),
            expiry_ms=self.expiry_ms,
        )
        has_begun = False

        async def work(transaction: SqlTransaction | None) -> None:
            nonlocal has_begun
            has_begun = True
            await self._runtime.call_listener(self._work, message, transaction)

        self.under_way[claim.owner] = claim.key
        try:
            return await self.strategy.run(claim, work)
        except StoreUnreachable:
            if has_begun or self._when_unreachable is not WhenUnreachable.WORK:
                raise
            self.counters.store_errors += 1
            await self._runtime.call_listener(self._work, message, None)
            return DeliveryVerdict.UNGUARDED
        finally:
            del self.under_way[claim.owner]

    def _count(self, key: str, verdict: DeliveryVerdict) -> None:
        counters = self.counters
        match verdict:
            case DeliveryVerdict.FIRST:
                counters.first += 1
            case DeliveryVerdict.TAKEN_OVER:
                counters.taken_over += 1
            case DeliveryVerdict.SWALLOWED:
                counters.swallowed += 1
            case DeliveryVerdict.BOUNCED:
                counters.bounced += 1
            case DeliveryVerdict.UNGUARDED:
                counters.unguarded += 1
            case DeliveryVerdict.NOT_MARKED:
                counters.first += 1
                counters.store_errors += 1
            case DeliveryVerdict.LATE_FINISH:
                counters.late_finishes += 1
                _log.warning("%s took longer than its record lived: another has taken it over meanwhile", key)
            case DeliveryVerdict.DIFFERENT_BODY:
                counters.different_bodies += 1
                _log.warning("%s was used before for another body: is the key unique?", key)


def work_of(listener: Callable[[Sequence[MessageExt], Any], Any], *, orderly: bool = False) -> MessageWork:
    """Return the work of an existing listener, which gets each message alone, with a context, and whose result counts
    for it.

    :param orderly: which of the two contexts it gets.
    """

    def begin(message: MessageExt) -> tuple[Any, Any]:
        queue = MessageQueue(message.topic, message.broker_name or "", message.queue_id)
        context = ConsumeOrderlyContext(queue) if orderly else ConsumeConcurrentlyContext(queue)
        return listener((message,), context), context

    def judge(answer: object, context: Any) -> None:
        if answer not in _DONE or getattr(context, "ack_index", 0) < 0:
            raise ComeAgainLater(f"the listener answered {answer}")

    async def end(answer: Awaitable[object], context: Any) -> None:
        judge(await answer, context)

    async def work(message: MessageExt, transaction: SqlTransaction | None) -> None:
        await end(*begin(message))

    def blocking_work(message: MessageExt, transaction: SqlTransaction | None) -> Awaitable[None] | None:
        answer, context = begin(message)
        if inspect.isawaitable(answer):
            return end(answer, context)
        judge(answer, context)
        return None

    # A listener has no parameter for the transaction: write the work itself where it is needed.
    return work if inspect.iscoroutinefunction(listener) else blocking_work
