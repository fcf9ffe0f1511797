"""The transaction listener of a lab producer that is a bank: its own database says how a local transaction ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.bank.paying_bank import PayingBank
from engine.client.transaction_listener import LocalTransactionState
from engine.lab.local_transactions import LocalTransactions
from engine.lab.node_banks import NodePayingBank
from engine.lab.scenario import BankAnswer, TransactionSpec, TransactionWord
from engine.protocol.message import Message, MessageExt

if TYPE_CHECKING:
    from engine.lab.producer_role import ProducerRole

_WORDS = {
    LocalTransactionState.COMMIT_MESSAGE: TransactionWord.COMMIT,
    LocalTransactionState.ROLLBACK_MESSAGE: TransactionWord.ROLLBACK,
    LocalTransactionState.UNKNOW: TransactionWord.UNKNOWN,
}


class BankTransactions(LocalTransactions):
    """See the module. ``outcomes`` stays empty: the rows are in the bank's database."""

    def __init__(self, role: ProducerRole, spec: TransactionSpec, node_bank: NodePayingBank) -> None:
        super().__init__(role, spec)
        self._node_bank = node_bank

    @property
    def _bank(self) -> PayingBank:
        bank = self._node_bank.bank
        assert bank is not None, "a listener is called while its process runs"
        return bank

    async def _execute(self, message: Message, argument: object) -> TransactionWord:
        assert isinstance(argument, int), "the role sends it along"
        word = _WORDS[await self._bank.execute_local_transaction(message, argument)]
        answers = self._node_bank.spec.answers
        match answers[argument % len(answers)]:
            case BankAnswer.OUTCOME:
                return word
            case BankAnswer.UNKNOWN:
                return TransactionWord.UNKNOWN
            case BankAnswer.THROWS:
                return TransactionWord.THROWS

    async def _check(self, message: MessageExt, check: int) -> TransactionWord:
        return _WORDS[await self._bank.check_local_transaction(message)]
