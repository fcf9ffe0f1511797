"""Nodes that take part in a two-phase commit, see :mod:`engine.xa`."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from engine.bank.accounts import Accounts
from engine.bank.transfer import Transfer
from engine.lab.nodes.cash_machine import CUSTOMER, CashMachine
from engine.lab.nodes.history import BranchChanged, GlobalChanged, TransferEnded
from engine.lab.nodes.node_banks import NodeBank
from engine.lab.nodes.scenario_node import ScenarioDiskNode, ScenarioNode, WorldContext
from engine.lab.scenario.kinds.bank_spec import ResourceBankSpec
from engine.lab.scenario.kinds.xa import CoordinatorSpec, ManagerSpec, ResourceManagerSpec
from engine.runtime.future_waits import cancel_all
from engine.xa.account_locks import WAITS_KEPT, LockWait
from engine.xa.branch_bank import BranchBank
from engine.xa.config import CoordinatorConfig, ManagerConfig, ResourceManagerConfig
from engine.xa.global_transaction import GlobalTransaction
from engine.xa.resource_manager import Branch, ResourceManager
from engine.xa.states import BranchState
from engine.xa.transaction_coordinator import XaTransactionCoordinator
from engine.xa.transaction_manager import TransactionOutcome, XaTransactionManager

#: Port on which they listen.
COORDINATOR_PORT = 9870
RESOURCE_MANAGER_PORT = 9880
#: Ended transfers that a manager's picture shows.
ENDED_KEPT = 12
#: State of a branch in the history whose process ended before it promised anything.
FORGOTTEN = "forgotten"


class CoordinatorNode(ScenarioDiskNode):
    """A coordinator's node.

    :ivar coordinator: None while the process does not run.
    """

    spec: CoordinatorSpec

    engine_name = "coordinator"
    coordinator: XaTransactionCoordinator | None = None

    async def _start(self) -> None:
        config = self.config(CoordinatorConfig)
        self.coordinator = XaTransactionCoordinator(self.runtime, self.name, config, self._changed)
        await self.coordinator.start(self.runtime.identity.host_ip, COORDINATOR_PORT)

    def _changed(self, transaction: GlobalTransaction) -> None:
        xid, key, state = transaction.xid, transaction.key, transaction.state.value
        changed = GlobalChanged(*self.here_and_now, xid, key, state, transaction.reason)
        self.world.history.globals_changed.append(changed)


class TransferUnderWay(NamedTuple):
    """A transfer whose outcome the manager does not know. ``phase``: its next step, or what it waits for."""

    key: str
    xid: str
    phase: str
    since_us: int


class ManagerNode(ScenarioNode):
    """A transaction manager's node.

    :ivar manager: None while the process does not run.
    :ivar under_way: the transfer in progress.
    :ivar ended: the newest ones that ended, oldest first.
    :ivar counts: outcome -> number of transfers.
    """

    spec: ManagerSpec

    engine_name = "manager"
    manager: XaTransactionManager | None = None

    def __init__(self, world: WorldContext, spec: ManagerSpec) -> None:
        super().__init__(world, spec)
        self.under_way: TransferUnderWay | None = None
        self.ended: deque[TransferEnded] = deque(maxlen=ENDED_KEPT)
        self.counts: dict[TransactionOutcome, int] = dict.fromkeys(TransactionOutcome, 0)
        #: After a crash the application continues with the next one.
        self.next_number = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def is_done(self) -> bool:
        """Return whether all transfers have ended."""
        transfers = self.spec.transfers
        return self.under_way is None and (transfers is None or self.next_number >= transfers.count)

    async def _start(self) -> None:
        config = self.config(ManagerConfig)
        address = coordinator_address(self.world)
        self.manager = XaTransactionManager(self.runtime, self.name, address, config, self._goes_on)
        self._task = asyncio.create_task(self._make_transfers(self.manager), name="transfers")

    async def _make_transfers(self, manager: XaTransactionManager) -> None:
        transfers, world = self.spec.transfers, self.world
        if transfers is None:
            return
        accounts = {spec.name: spec.bank.account for spec in world.scenario.of_kind(ResourceManagerSpec)}
        addresses = [_address(world, name, RESOURCE_MANAGER_PORT) for name in (transfers.source, transfers.target)]
        source, target = accounts[transfers.source], accounts[transfers.target]
        await self.until(transfers.start_ms)
        while self.next_number < transfers.count:
            begun_us = world.now_us
            key = transfers.key_of(self.next_number)
            self.next_number += 1
            result = await manager.transfer(Transfer(key, source, target, transfers.amount), *addresses)
            self.under_way = None
            self.counts[result.outcome] += 1
            outcome = result.outcome.value
            ended = TransferEnded(*self.here_and_now, key, result.xid, outcome, result.reason)
            self.ended.append(ended)
            world.history.transfers_ended.append(ended)
            if self.next_number < transfers.count:
                await self.pause_between(begun_us, transfers.every_ms)

    def _goes_on(self, key: str, xid: str, phase: str) -> None:
        self.under_way = TransferUnderWay(key, xid, phase, self.world.now_us)

    async def _stop(self) -> None:
        await cancel_all([self._task])
        await super()._stop()

    def _forget(self) -> None:
        super()._forget()
        self.under_way = None
        self._task = None


class NodeBranchBank(NodeBank[BranchBank, ResourceBankSpec]):
    """The bank of a resource manager."""

    def _make(self, accounts: Accounts) -> BranchBank:
        return BranchBank(self._role.runtime, accounts, self._ended)


class ResourceManagerNode(ScenarioNode):
    """A resource manager's node.

    :ivar resource_manager: None while the process does not run.
    :ivar node_bank: its bank.
    :ivar cash_machine: None where the scenario has none.
    :ivar past_waits: waits for locks in earlier processes.
    """

    spec: ResourceManagerSpec

    engine_name = "resource_manager"
    resource_manager: ResourceManager | None = None

    def __init__(self, world: WorldContext, spec: ResourceManagerSpec) -> None:
        super().__init__(world, spec)
        self.node_bank = NodeBranchBank(self, spec.bank)
        machine = spec.cash_machine
        self.cash_machine = (
            CashMachine(self, machine, self._look_up_balance, self._who_locks) if machine is not None else None
        )
        self.past_waits: deque[LockWait] = deque(maxlen=WAITS_KEPT)
        self._customer: asyncio.Task[None] | None = None

    async def _start(self) -> None:
        config = self.config(ResourceManagerConfig)
        self.resource_manager = ResourceManager(
            self.runtime,
            self.name,
            coordinator_address(self.world),
            self.node_bank.start(),
            work_ms=self.node_bank.spec.duration_ms,
            config=config,
            on_changed=self._changed,
        )
        await self.resource_manager.start(self.runtime.identity.host_ip, RESOURCE_MANAGER_PORT)
        if self.cash_machine is not None:
            self._customer = asyncio.create_task(self.cash_machine.run(), name=CUSTOMER)

    def is_moving(self, key: str) -> bool:
        """Return whether it is working on the transfer. A promise also counts while the process does not run."""
        database = self.node_bank.at_rest()
        if database is None:
            return False
        try:
            return BranchBank.has_promise(database, key)
        finally:
            database.close()

    def locked_since_us(self, key: str, known_us: int | None) -> int | None:
        manager = self.resource_manager
        if manager is None:
            # The process does not run, so there is no access; but only a promise still holds afterwards.
            return known_us if self.is_moving(key) else None
        for branch in manager.open.values():
            held = manager.locks.holders.get(branch.account)
            if branch.work.transfer.key == key and held is not None and held[0] == branch.xid:
                return held[1]
        return None

    def _who_locks(self) -> str:
        manager = self.resource_manager
        return (manager.locks.holder_of(self.node_bank.spec.account) if manager is not None else None) or ""

    async def _look_up_balance(self) -> int | None:
        assert self.resource_manager is not None, "the machine is part of the process"
        return await self.resource_manager.look_up_balance(self.node_bank.spec.account, CUSTOMER)

    def _changed(self, branch: Branch, state: str = "") -> None:
        work, state = branch.work, state or branch.state.value
        action = (work.xid, work.transfer.key, work.doing.value)
        self.world.history.branches_changed.append(BranchChanged(*self.here_and_now, *action, state, branch.reason))

    async def _stop(self) -> None:
        await cancel_all([self._customer])
        await super()._stop()

    def _forget(self) -> None:
        manager = self.resource_manager
        for branch in manager.open.values() if manager is not None else ():
            if branch.state is not BranchState.PREPARED:
                self._changed(branch, FORGOTTEN)
        for wait in manager.locks.waits if manager is not None else ():
            wait.until_us = self.world.now_us if wait.until_us is None else wait.until_us
            self.past_waits.append(wait)
        super()._forget()
        self._customer = None
        self.node_bank.forget()
        if self.cash_machine is not None:
            self.cash_machine.forget()


def coordinator_address(world: WorldContext) -> str:
    """Return the address of the scenario's only coordinator."""
    (spec,) = world.scenario.of_kind(CoordinatorSpec)
    return _address(world, spec.name, COORDINATOR_PORT)


def _address(world: WorldContext, node: str, port: int) -> str:
    return f"{world.nodes[node].runtime.identity.host_ip}:{port}"
