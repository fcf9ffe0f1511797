"""Send three transfers in transactions: one is committed, one rolled back, one decided by a check-back.

``python transaction_producer.py [NAME_SERVER]`` runs until Ctrl-C, to answer check-backs; the article's
``ICBCTransactionListener`` and ``TransactionProducer``.
"""

import asyncio
import contextlib
import sys

from engine.client import LocalTransactionState, Message, MessageExt, TransactionMQProducer

STATES = {
    "TAGA": LocalTransactionState.COMMIT_MESSAGE,  # the debit succeeds
    "TAGB": LocalTransactionState.ROLLBACK_MESSAGE,  # it fails
    "TAGC": LocalTransactionState.UNKNOW,  # not known yet
}


class ICBCTransactionListener:
    """Decides by the tag."""

    async def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionState:
        """Called once the half message is stored."""
        print("half message stored:", message.body.decode(), message.tags)
        return STATES[message.tags or ""]

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        """Called when the broker has heard no decision."""
        print("checked:", message.body.decode(), message.tags)
        return LocalTransactionState.COMMIT_MESSAGE


async def main(name_server: str = "127.0.0.1:9876") -> None:
    """Send, then wait for check-backs."""
    producer = TransactionMQProducer(
        group="tpg", name_server_addresses=name_server, transaction_listener=ICBCTransactionListener()
    )
    async with producer:
        for number, tag in enumerate(STATES):
            result = await producer.send_message_in_transaction(Message("TTopic", b"Hi,%d" % number, tags=tag))
            print("sent:", result.send_result.status)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
