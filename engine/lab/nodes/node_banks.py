"""The bank on a lab node, across the lifetimes of its process.

Each process of the node opens a new bank on the database on the node's disk; the counters for the pictures continue.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from engine.bank.accounts import Accounts
from engine.bank.bank import Bank
from engine.bank.bank_action import COMMITTED, DUPLICATE, PREPARED, BankAction, Doing
from engine.bank.database import BankDatabase
from engine.bank.paying_bank import PayingBank
from engine.bank.receiving_bank import ReceivingBank
from engine.bank.transfer import Transfer
from engine.lab.nodes.history import BankEntry
from engine.lab.nodes.scenario_node import ScenarioNode
from engine.lab.scenario.kinds.bank_spec import BankSpec, PayingBankSpec, ReceivingBankSpec
from engine.lab.scenario.listener_spec import ListenerSpec
from engine.lab.scenario.switches import IDEMPOTENT_CONSUMER

_Bank = TypeVar("_Bank", bound=Bank)
_Spec = TypeVar("_Spec", bound=BankSpec)

#: Path of the database on the node's disk.
DATABASE_PATH = "bank/bank.db"
#: Most refused actions of a bank that are kept, for the pictures.
REFUSED_KEPT = 12


class NodeBank(Generic[_Bank, _Spec]):
    """A node's bank.

    :ivar bank: None while the process does not run.
    :ivar refused: debits and credits that failed, oldest first.
    :ivar duplicates_ignored: by all processes of the node.
    """

    def __init__(self, role: ScenarioNode, spec: _Spec) -> None:
        self._role = role
        self.spec = spec
        self.bank: _Bank | None = None
        self.refused: deque[BankEntry] = deque(maxlen=REFUSED_KEPT)
        self.duplicates_ignored = 0

    def start(self) -> _Bank:
        """Start a process, on what the last one committed. Raises :class:`~engine.bank.errors.BankError`."""
        accounts = Accounts(BankDatabase(self._role.runtime.disk, DATABASE_PATH))
        accounts.open_account(self.spec.account, self.spec.opening)
        self.bank = self._make(accounts)
        return self.bank

    def _make(self, accounts: Accounts) -> _Bank:
        raise NotImplementedError

    def forget(self) -> None:
        """Reset the state that ends with the process."""
        if self.bank is not None:
            self.bank.close()
            self.bank = None

    def at_rest(self) -> BankDatabase | None:
        """Return the database on the disk, to be closed by the caller; None if it does not exist yet."""
        disk = self._role.runtime.disk
        return BankDatabase(disk, DATABASE_PATH) if disk.exists(DATABASE_PATH) else None

    def locked_since_us(self, key: str) -> int | None:
        """Return since when a local transaction for the transfer has locked the database; None: it is not locked."""
        bank = self.bank
        if bank is None or not bank.accounts.database.in_transaction:
            return None
        return next((action.since_us for action in bank.open.values() if action.key == key), None)

    def _ended(self, action: BankAction) -> None:
        done = (action.account, action.doing.value, action.key, action.amount, action.outcome, action.balance)
        entry = BankEntry(*(*self._role.here_and_now, self.spec.name, *done))
        self._role.world.history.bank_entries.append(entry)
        if action.outcome == DUPLICATE:
            self.duplicates_ignored += 1
        elif action.outcome not in (COMMITTED, PREPARED) and action.doing is not Doing.CHECK:
            self.refused.append(entry)


class NodePayingBank(NodeBank[PayingBank, PayingBankSpec]):
    """The paying bank of a producer."""

    def _make(self, accounts: Accounts) -> PayingBank:
        spec = self.spec
        runtime = self._role.runtime
        return PayingBank(runtime, accounts, spec.way, spec.duration_ms, spec.check_duration_ms, self._ended)

    def transfer(self, key: str) -> Transfer:
        """Return the transfer with this key: all move the same amount."""
        return Transfer(key, self.spec.account, self.spec.to, self.spec.amount)


class NodeReceivingBank(NodeBank[ReceivingBank, ReceivingBankSpec]):
    """The receiving bank of a consumer."""

    def _make(self, accounts: Accounts) -> ReceivingBank:
        return ReceivingBank(self._role.runtime, accounts, watcher=self._ended)

    def ready(self, listener: ListenerSpec) -> ReceivingBank:
        """Return the bank, configured by the present switches and listener of the node."""
        bank = self.bank
        assert bank is not None, "a listener is called while its process runs"
        bank.idempotent = IDEMPOTENT_CONSUMER not in self._role.switched_off
        bank.duration_ms = listener.duration_ms
        return bank
