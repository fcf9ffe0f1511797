"""A lost END_TRANSACTION: the broker asks the producer, whose answer decides.

Caught: a listener that cannot say later what became of its local transaction. The money would leave one account and
never reach the other.
"""

import asyncio

from engine.client import LocalTransactionState, Message, MessageExt, TransactionMQProducer
from engine.testkit import GlassMQ


class Bank:
    """The service under test: it books a transfer, and answers for it from its books."""

    def __init__(self) -> None:
        self.booked: list[str] = []

    async def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionState:
        """Called once the half message is stored."""
        self.booked += message.keys
        return LocalTransactionState.COMMIT_MESSAGE

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        """Called when the broker has heard no decision."""
        is_booked = message.keys[0] in self.booked
        return LocalTransactionState.COMMIT_MESSAGE if is_booked else LocalTransactionState.ROLLBACK_MESSAGE


def test_a_transfer_whose_commit_is_lost_arrives_all_the_same(glassmq: GlassMQ) -> None:
    async def transfer() -> None:
        bank = Bank()
        producer = TransactionMQProducer(None, "bank", glassmq.name_server_address, transaction_listener=bank)
        async with producer:
            with glassmq.faults.drop("END_TRANSACTION", times=1) as lost:
                await producer.send_message_in_transaction(Message("transfers", b"100", keys="transfer-17"))
                await lost
            assert [half.keys for half in glassmq.half_messages()] == [("transfer-17",)]

            await asyncio.to_thread(glassmq.advance, minutes=2)  # the broker asks after a minute

            await asyncio.to_thread(glassmq.wait_for, "transfers", key="transfer-17")

    asyncio.run(transfer())
    assert glassmq.half_messages() == []
