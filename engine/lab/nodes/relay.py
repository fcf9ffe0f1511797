"""A relay: work continues elsewhere, and the message for it is sent in one transaction with the work done here.

::

    1 send the half message of the next step          no consumer sees it
    2 one database transaction: the record of         the local transaction (see MessageTable)
      idempotence, the work, and a row in ``hop``
    3 commit the half message where that row exists   else roll it back
    . the broker asks: look for the row

So one long piece of work becomes several, each of which is done once, in one database, whatever crashes. A redelivery
of a message whose work is done finds no row for its own half message, so that half message is rolled back; the one of
the first delivery was committed.

A check-back that finds no row writes one that says "rolled back". A transaction that would commit later, for instance
because its process was paused, then violates the key of ``hop``: it is rolled back as a whole, and its message is
delivered again. Without that row the answer could become wrong right after it was given, and the next message would be
lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from engine.client.callbacks.send_result import SendResult
from engine.client.callbacks.transaction_listener import LocalTransactionState
from engine.client.producer.transaction_mq_producer import TransactionMQProducer
from engine.idempotence.foundation.sql_port import SqlDatabase, SqlSession
from engine.idempotence.idempotent_listener import IdempotentListener
from engine.lab.nodes.helper_producer import HelperProducer
from engine.lab.nodes.history import LocalTransactionEnded
from engine.lab.nodes.scenario_node import MemberNode
from engine.lab.scenario.kinds.producer import TransactionWord
from engine.protocol.message.message import Message, MessageExt
from engine.protocol.message.message_properties import PROPERTY_TRANSACTION_CHECK_TIMES, PROPERTY_UNIQUE_KEY
from engine.runtime.step import step

#: User property with the order of a message; without it the message's key is used.
ORDER_PROPERTY = "order"

_INSERT = "INSERT INTO hop (half_id, is_committed) VALUES (:half_id, :is_committed)"
_FIND = "SELECT is_committed FROM hop WHERE half_id = :half_id"
_CONSUME = Callable[[MessageExt], Awaitable[bool]]


class _Attempt:
    """One delivery of a message; ``is_done``: it may be acknowledged."""

    def __init__(self, message: MessageExt, consume: _CONSUME) -> None:
        self.message = message
        self.consume = consume
        self.is_done = False


class Relay(HelperProducer):
    """The next messages of one consumer, and the listener of their local transactions.

    :ivar sent: order -> how many half messages this node has sent for it, over all its processes.
    """

    #: Database of the running process.
    database: SqlDatabase

    def __init__(self, role: MemberNode, topic: str) -> None:
        super().__init__(role, "hops")
        self.topic = topic
        self.sent: dict[str, int] = {}
        #: Delivery that is worked on -> id of its half message. A message is equal to itself only: the client gives a
        #: retry its old topic back, so that another message of that topic may have the same queue and offset.
        self._half_ids: dict[MessageExt, str] = {}

    def _make_producer(self, name_servers: str, settings: dict[str, Any]) -> TransactionMQProducer:
        return TransactionMQProducer(self._role.runtime, self._group, name_servers, self, **settings)

    def forget(self) -> None:
        super().forget()
        self._half_ids.clear()

    async def consume(self, message: MessageExt, consume: _CONSUME) -> bool:
        """Consume ``message`` as the local transaction of the next message; return what ``consume`` returns."""
        role, order = self._role, order_of(message)
        self.sent[order] = number = self.sent.get(order, 0) + 1
        key = f"{order}-{role.name}" if number == 1 else f"{order}-{role.name}-{number}"
        following = Message(self.topic, message.body, keys=key, properties={ORDER_PROPERTY: order})
        attempt = _Attempt(message, consume)
        await self._send(key, self.topic, self._send_in_transaction(following, attempt))
        return attempt.is_done

    async def _send_in_transaction(self, following: Message, attempt: _Attempt) -> SendResult:
        producer = cast("TransactionMQProducer", self._producer)
        return (await producer.send_message_in_transaction(following, attempt)).send_result

    async def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionState:
        assert isinstance(argument, _Attempt), "it is sent along"
        half_id, attempt = message.properties[PROPERTY_UNIQUE_KEY], argument
        self._half_ids[attempt.message] = half_id
        try:
            attempt.is_done = await attempt.consume(attempt.message)
        finally:
            self._half_ids.pop(attempt.message, None)
        return await self._outcome(half_id, message.keys[0], 0)

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        return await self._outcome(message.message_id, message.keys[0], _check_of(message))

    async def note(self, message: MessageExt, session: SqlSession) -> None:
        """Note that the work of ``message`` is done, in the transaction of ``session``. Raises ``UniqueViolation``: too
        late.
        """
        await step("notes the next message")
        await session.execute(_INSERT, {"half_id": self._half_ids[message], "is_committed": 1})

    async def _outcome(self, half_id: str, key: str, check: int) -> LocalTransactionState:
        """Return the outcome. Raises if the database does not answer: it will be asked again."""
        await step("looks for the next message")
        await self.database.execute(
            f"{_INSERT} ON CONFLICT (half_id) DO NOTHING", {"half_id": half_id, "is_committed": 0}
        )
        (row,) = (await self.database.execute(_FIND, {"half_id": half_id})).rows
        word = TransactionWord.COMMIT if row["is_committed"] else TransactionWord.ROLLBACK
        role = self._role
        ended = LocalTransactionEnded(*role.here_and_now, self._group, key, check, word.value)
        role.world.history.transactions_ended.append(ended)
        return LocalTransactionState.COMMIT_MESSAGE if row["is_committed"] else LocalTransactionState.ROLLBACK_MESSAGE


class RelayingListener(IdempotentListener):
    """An idempotent listener each of whose deliveries is the local transaction of the next message."""

    def __init__(self, relay: Relay, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._relay = relay

    async def consume(self, message: MessageExt) -> bool:
        return await self._relay.consume(message, super().consume)


def _check_of(half: MessageExt) -> int:
    return max(1, int(half.properties.get(PROPERTY_TRANSACTION_CHECK_TIMES, "0")))


def order_of(message: MessageExt) -> str:
    """Return the order number that the message carries: its property, else its key."""
    return message.properties.get(ORDER_PROPERTY) or (message.keys[0] if message.keys else "")
