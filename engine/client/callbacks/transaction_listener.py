"""What the user of transactional messages writes (RocketMQ: ``TransactionListener``, ``LocalTransactionState``, and
in older programs ``LocalTransactionExecuter`` and ``TransactionCheckListener``).
"""

from __future__ import annotations

from collections.abc import Awaitable
from enum import Enum
from typing import Protocol

from engine.protocol.message.message import Message, MessageExt
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, TRANSACTION_NOT_TYPE, TRANSACTION_ROLLBACK_TYPE


class LocalTransactionState(Enum):
    """How a local transaction ended; the values are those of END_TRANSACTION's ``commitOrRollback``.

    ``UNKNOW`` is RocketMQ's spelling. It means: ask me later.
    """

    COMMIT_MESSAGE = TRANSACTION_COMMIT_TYPE
    ROLLBACK_MESSAGE = TRANSACTION_ROLLBACK_TYPE
    UNKNOW = TRANSACTION_NOT_TYPE


#: A listener may be plain functions or coroutine functions; None counts as UNKNOW, as in RocketMQ.
LocalTransactionAnswer = LocalTransactionState | None | Awaitable[LocalTransactionState | None]


class TransactionListener(Protocol):
    """Both are called with the node's clock running: a slow one lets the broker ask."""

    def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionAnswer:
        """The half message is stored: do the local transaction now. An exception counts as UNKNOW."""
        ...

    def check_local_transaction(self, message: MessageExt) -> LocalTransactionAnswer:
        """The broker asks what became of the local transaction of ``message``: look it up, do not do it again.

        May be asked of any member of the producer group, and of one that has restarted since.
        """
        ...
