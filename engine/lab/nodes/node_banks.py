"""The bank on a lab node, across the lives of its process.

Each process of the node makes a new bank on the database that lies on the node's disk; what the pictures count goes on.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from engine.bank.accounts import Accounts
from engine.bank.bank import Bank
from engine.bank.bank_deed import COMMITTED, DUPLICATE, PREPARED, BankDeed, Doing
from engine.bank.database import BankDatabase
from engine.bank.paying_bank import PayingBank
from engine.bank.receiving_bank import ReceivingBank
from engine.bank.transfer import Transfer
from engine.lab.nodes.history import BankEntry
from engine.lab.nodes.node_role import LabNodeRole
from engine.lab.scenario.listener_spec import ListenerSpec
from engine.lab.scenario.scenario import BankSpec
from engine.lab.scenario.switches import IDEMPOTENT_CONSUMER

_Bank = TypeVar("_Bank", bound=Bank)

#: Where the database lies on the node's disk.
DATABASE_PATH = "bank/bank.db"
#: What a bank did not do, so many of the newest, for the pictures.
REFUSED_KEPT = 12


class NodeBank(Generic[_Bank]):
    """See the module.

    :ivar bank: None while the process does not run.
    :ivar refused: debits and credits that failed, oldest first.
    :ivar duplicates_ignored: by all processes of the node.
    """

    def __init__(self, role: LabNodeRole, spec: BankSpec) -> None:
        self._role = role
        self.spec = spec
        self.bank: _Bank | None = None
        self.refused: deque[BankEntry] = deque(maxlen=REFUSED_KEPT)
        self.duplicates_ignored = 0

    def start(self) -> _Bank:
        """A process begins, on what the last one committed. Raises :class:`~engine.bank.errors.BankError`."""
        accounts = Accounts(BankDatabase(self._role.runtime.disk, DATABASE_PATH))
        accounts.open_account(self.spec.account, self.spec.opening)
        self.bank = self._make(accounts)
        return self.bank

    def _make(self, accounts: Accounts) -> _Bank:
        raise NotImplementedError

    def forget(self) -> None:
        """The process is gone."""
        if self.bank is not None:
            self.bank.close()
            self.bank = None

    def at_rest(self) -> BankDatabase | None:
        """What lies on the disk; None: nothing yet. To be closed by the caller."""
        disk = self._role.runtime.disk
        return BankDatabase(disk, DATABASE_PATH) if disk.exists(DATABASE_PATH) else None

    def _ended(self, deed: BankDeed) -> None:
        done = (deed.account, deed.doing.value, deed.key, deed.amount, deed.outcome, deed.balance)
        entry = BankEntry(*(*self._role.here_and_now, self.spec.name, *done))
        self._role.world.history.bank_entries.append(entry)
        if deed.outcome == DUPLICATE:
            self.duplicates_ignored += 1
        elif deed.outcome not in (COMMITTED, PREPARED) and deed.doing is not Doing.CHECK:
            self.refused.append(entry)


class NodePayingBank(NodeBank[PayingBank]):
    """That of a producer."""

    def _make(self, accounts: Accounts) -> PayingBank:
        spec = self.spec
        runtime = self._role.runtime
        return PayingBank(runtime, accounts, spec.way, spec.duration_ms, spec.check_duration_ms, self._ended)

    def transfer(self, key: str) -> Transfer:
        """The one of that key: all move the same amount."""
        return Transfer(key, self.spec.account, self.spec.to, self.spec.amount)


class NodeReceivingBank(NodeBank[ReceivingBank]):
    """That of a consumer."""

    def _make(self, accounts: Accounts) -> ReceivingBank:
        return ReceivingBank(self._role.runtime, accounts, watcher=self._ended)

    def ready(self, listener: ListenerSpec) -> ReceivingBank:
        """The bank, set as the node's switches and its listener are now."""
        bank = self.bank
        assert bank is not None, "a listener is called while its process runs"
        bank.idempotent = IDEMPOTENT_CONSUMER not in self._role.switched_off
        bank.duration_ms = listener.duration_ms
        return bank
