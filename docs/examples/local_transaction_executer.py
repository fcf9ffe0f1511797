"""Give each transactional send its own local transaction, as RocketMQ's ``LocalTransactionExecuter`` did.

``python local_transaction_executer.py [NAME_SERVER]`` runs until Ctrl-C, to answer check-backs. The listener calls the
argument of the send; what returns nothing, or fails, is unknown to the broker, which asks later.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable

from engine.client import LocalTransactionState, Message, MessageExt, TransactionMQProducer

Executer = Callable[[Message], LocalTransactionState | None]


class ExecuterListener:
    """Leaves the decision to the argument of the send."""

    async def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionState | None:
        """Call the executer."""
        assert callable(argument)
        state: LocalTransactionState | None = argument(message)
        return state

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        """Look the transaction up; the executer is not called again."""
        print("checked", message.tags)
        return LocalTransactionState.COMMIT_MESSAGE


def fail(message: Message) -> None:
    """A local transaction whose outcome is not known."""
    raise ConnectionError("the database is away")


EXECUTERS: dict[str, Executer] = {
    "TAGA": lambda message: LocalTransactionState.COMMIT_MESSAGE,
    "TAGB": lambda message: LocalTransactionState.ROLLBACK_MESSAGE,
    "TAGC": lambda message: None,
    "TAGD": fail,
}


async def main(name_server: str = "127.0.0.1:9876") -> None:
    """Send, then wait for check-backs."""
    producer = TransactionMQProducer(
        group="executers", name_server_addresses=name_server, transaction_listener=ExecuterListener()
    )
    async with producer:
        for tag, executer in EXECUTERS.items():
            result = await producer.send_message_in_transaction(Message("TTopic", b"transfer", tags=tag), executer)
            print(tag, result.local_transaction_state.name)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
