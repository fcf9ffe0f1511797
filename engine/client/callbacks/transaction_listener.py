"""The listener that users of transactional messages implement (RocketMQ: ``TransactionListener``,
``LocalTransactionState``, and in older programs ``LocalTransactionExecuter`` and ``TransactionCheckListener``).
"""

from __future__ import annotations

from collections.abc import Awaitable
from enum import Enum
from typing import Protocol

from engine.protocol.message.message import Message, MessageExt
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, TRANSACTION_NOT_TYPE, TRANSACTION_ROLLBACK_TYPE


class LocalTransactionState(Enum):
    """The outcomes of a local transaction; the values are those of END_TRANSACTION's ``commitOrRollback``.

    ``UNKNOW`` is RocketMQ's spelling. It means that the broker should ask again later.
    """

    COMMIT_MESSAGE = TRANSACTION_COMMIT_TYPE
    ROLLBACK_MESSAGE = TRANSACTION_ROLLBACK_TYPE
    UNKNOW = TRANSACTION_NOT_TYPE


#: A listener may be plain functions or coroutine functions; None counts as UNKNOW, as in RocketMQ.
LocalTransactionAnswer = LocalTransactionState | None | Awaitable[LocalTransactionState | None]


class TransactionListener(Protocol):
    """A listener for local transactions. Both methods are called with the node's clock running: a slow one causes
    check-backs.
    """

    def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionAnswer:
        """Run the local transaction; the half message is stored. An exception counts as UNKNOW."""
        ...

    def check_local_transaction(self, message: MessageExt) -> LocalTransactionAnswer:
        """Report the outcome of the local transaction of ``message`` when the broker asks: look it up, do not run it
        again.

        Any member of the producer group may be asked, including one that has restarted since.
        """
        ...
