"""The local transactions of a lab producer, and the database with their outcomes.

A check-back must be answered by looking up the outcome of the local transaction, by any member of the group and after
any crash. So the outcome is stored where a crash of the process does not reach it: with the role, not with the engine
objects; and all members of a group read the rows of all. A producer that is a bank has a database of its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from engine.bank.paying_bank import PayingBank
from engine.client.callbacks.transaction_listener import LocalTransactionState
from engine.lab.nodes.history import LocalTransactionEnded
from engine.lab.nodes.node_banks import NodePayingBank
from engine.lab.nodes.scenario_node import MemberNode
from engine.lab.scenario.kinds.bank_spec import BankAnswer
from engine.lab.scenario.kinds.producer import TransactionSpec, TransactionWord
from engine.protocol.message.message import Message, MessageExt

#: Ended calls of the listener that a role remembers for the picture.
ENDED_KEPT = 12

_STATES = {
    TransactionWord.COMMIT: LocalTransactionState.COMMIT_MESSAGE,
    TransactionWord.ROLLBACK: LocalTransactionState.ROLLBACK_MESSAGE,
    TransactionWord.UNKNOWN: LocalTransactionState.UNKNOW,
}
_WORDS = {state: word for word, state in _STATES.items()}
#: Outcomes that a database has a row for.
_OUTCOMES = (TransactionWord.COMMIT, TransactionWord.ROLLBACK)


class LocalTransactionFailed(Exception):
    """Raised by a transaction listener that the scenario lets fail."""


class RunningCall(NamedTuple):
    """A call of the transaction listener that has not ended. ``check``: 0: it executes; n: it answers the nth check."""

    key: str
    check: int
    since_us: int


class LocalTransactions:
    """The transaction listener of one lab producer.

    :param members: local transactions of all producers of the group, including this one.
    :param half_message_stored: called with the key of each message whose half message is stored.
    :ivar running: calls under way, by a number of their own; a crash ends them without a trace.
    :ivar ended: the newest ones that ended, oldest first.
    :ivar outcomes: the database: key -> ``COMMIT`` or ``ROLLBACK``. Survives crashes.
    :ivar checks: key -> how many checks this member answered.
    """

    def __init__(
        self,
        role: MemberNode,
        spec: TransactionSpec,
        members: Callable[[], Sequence[LocalTransactions]],
        half_message_stored: Callable[[str], None],
    ) -> None:
        self._role = role
        self._spec = spec
        self._members = members
        self._half_message_stored = half_message_stored
        self._call_count = 0
        self.running: dict[int, RunningCall] = {}
        self.ended: deque[LocalTransactionEnded] = deque(maxlen=ENDED_KEPT)
        self.outcomes: dict[str, TransactionWord] = {}
        self.checks: dict[str, int] = {}

    async def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionState:
        """Execute the local transaction; the half message is stored. ``argument``: the number of the message, from
        0.
        """
        key = message.keys[0]
        self._half_message_stored(key)
        return await self._call(key, 0, self._execute(message, argument))

    async def _execute(self, message: Message, argument: object) -> TransactionWord:
        assert isinstance(argument, int), "the role sends it along"
        words = self._spec.executes
        word = dict(self._spec.outcomes).get(message.keys[0], words[argument % len(words)])
        await asyncio.sleep(self._spec.duration_ms / 1_000)
        if word in _OUTCOMES:
            self.outcomes[message.keys[0]] = word
        return word

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        """Answer a check-back of the broker."""
        key = message.keys[0]
        self.checks[key] = self.checks.get(key, 0) + 1
        check = sum(member.checks.get(key, 0) for member in self._members())
        return await self._call(key, check, self._check(message, check))

    async def _check(self, message: MessageExt, check: int) -> TransactionWord:
        words = self._spec.checks
        word = words[min(check, len(words)) - 1]
        await asyncio.sleep(self._spec.check_duration_ms / 1_000)
        return self._look_up(message.keys[0]) if word is TransactionWord.LOOKED_UP else word

    async def _call(self, key: str, check: int, work: Awaitable[TransactionWord]) -> LocalTransactionState:
        role = self._role
        self._call_count += 1
        number = self._call_count
        self.running[number] = RunningCall(key, check, role.world.now_us)
        try:
            word = await work
        finally:
            self.running.pop(number, None)
        ended = LocalTransactionEnded(*role.here_and_now, role.spec.group, key, check, word.value)
        self.ended.append(ended)
        role.world.history.transactions_ended.append(ended)
        if word is TransactionWord.THROWS:
            raise LocalTransactionFailed(f"the scenario lets the local transaction of {key} fail")
        return _STATES[word]

    def _look_up(self, key: str) -> TransactionWord:
        """Return the outcome in the database of the group. A transaction without a row that is not in progress never
        happened.
        """
        members = self._members()
        for member in members:
            if key in member.outcomes:
                return member.outcomes[key]
        works_on_it = any(call.key == key and call.check == 0 for member in members for call in member.running.values())
        return TransactionWord.UNKNOWN if works_on_it else TransactionWord.ROLLBACK

    def forget_running(self) -> None:
        """Reset the state that ends with the process."""
        self.running.clear()


class BankTransactions(LocalTransactions):
    """The local transactions of a bank: its own database has their outcomes, and ``outcomes`` stays empty."""

    def __init__(self, node_bank: NodePayingBank, *listener: Any) -> None:
        super().__init__(*listener)
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
