"""A resource manager (RM): a bank with its database, which takes part in global transactions.

A branch goes through phase one in three steps: it waits for the lock on its account, does its work, then records
durably what it will post and votes yes. From then on it is in doubt: only the coordinator's decision ends it, and until
then the lock is kept. A new process finds its promises in the database and acquires their locks before it serves
clients.

RocketMQ's producer and broker have this role for transactional messages, but without locks
(:mod:`engine.client.producer.transaction_mq_producer`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.bank.bank_action import Doing
from engine.bank.errors import BankError
from engine.bank.transfer import AMOUNT_MAX, Transfer
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError
from engine.remoting.processor import answers
from engine.remoting.remoting_client import RemotingClient
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.state_table import next_state
from engine.runtime.step import step
from engine.xa.account_locks import AccountLocks
from engine.xa.branch_bank import BranchBank, BranchWork
from engine.xa.config import ResourceManagerConfig
from engine.xa.errors import IllegalTransition, XaError, XaRefused
from engine.xa.headers import (
    DecisionResponseHeader,
    EnlistRequestHeader,
    RegisterBranchRequestHeader,
    VoteResponseHeader,
    XidHeader,
)
from engine.xa.request_codes import XaRequestCode
from engine.xa.states import BRANCH_TRANSITIONS, BranchEvent, BranchState, Decision

if TYPE_CHECKING:
    from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.xa")

#: The number of finished branches that are still shown.
ENDED_KEPT = 32


@dataclass(slots=True, eq=False)
class Branch:
    """This resource manager's part of a global transaction.

    :ivar since_us: monotonic time of the last change of state; after a restart, that of the restart.
    :ivar reason: why it is rolled back, or why the vote was no.
    :ivar voted: set once the vote is known.
    """

    work: BranchWork
    since_us: int
    state: BranchState = BranchState.ENLISTED
    reason: str = ""
    voted: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def xid(self) -> str:
        """Return the id of the global transaction."""
        return self.work.xid

    @property
    def account(self) -> str:
        """Return the account that the branch locks."""
        return self.work.account


class ResourceManager:
    """A resource manager.

    :param name: its name at the coordinator.
    :param bank: its accounts and promises.
    :param work_ms: how long the work of a branch takes, while the account is locked.
    :param on_changed: called with each branch right after its state has changed.
    :ivar open: the unfinished branches, by xid.
    :ivar ended: the newest finished ones.
    :ivar locks: the locks on its accounts.
    """

    def __init__(
        self,
        runtime: Runtime,
        name: str,
        coordinator_address: str,
        bank: BranchBank,
        *,
        work_ms: int = 0,
        config: ResourceManagerConfig | None = None,
        on_changed: Callable[[Branch], None] | None = None,
    ) -> None:
        self.name = name
        self.config = config or ResourceManagerConfig()
        self.bank = bank
        self.open: dict[str, Branch] = {}
        self.ended: deque[Branch] = deque(maxlen=ENDED_KEPT)
        self.locks = AccountLocks(runtime.clock.monotonic_us)
        self._runtime = runtime
        self._coordinator_address = coordinator_address
        self._work_ms = work_ms
        self._on_changed = on_changed
        self._server = RemotingServer(runtime, f"resource manager {name}")
        self._client = RemotingClient(runtime, f"resource manager {name}")
        self._background = BackgroundTasks(f"resource manager {name}")
        self._server.processors.register_methods(self)

    # --- life cycle --------------------------------------------------------------------------------------------------

    async def start(self, host: str, port: int) -> None:
        """Lock the accounts of branches in doubt, then listen. Raises ``AddressInUse``."""
        for work in self.bank.branches(BranchState.PREPARED):
            branch = self.open[work.xid] = Branch(work, self._now_us(), BranchState.PREPARED)
            branch.voted.set()
            self.bank.at_work(work)
            self.locks.take(work.account, work.xid)
        await self._server.start(host, port)
        self._background.every(
            self.config.query_interval_ms, self._ask_about_doubts, "asks about branches in doubt", first_after_ms=0
        )

    async def shutdown(self) -> None:
        """Stop. Branches in doubt stay in doubt."""
        await self._background.stop()
        await self._client.shutdown()
        await self._server.shutdown()
        self.bank.close()

    @property
    def address(self) -> str:
        """Return the ``"ip:port"``, once started."""
        return self._server.address

    @property
    def in_doubt(self) -> list[Branch]:
        """Return the branches that voted yes and wait for the decision, oldest first."""
        return [branch for branch in self.open.values() if branch.state is BranchState.PREPARED]

    def _now_us(self) -> int:
        return self._runtime.clock.monotonic_us()

    def _after(self, branch: Branch, event: BranchEvent) -> BranchState:
        about = f"branch {branch.xid} at {self.name}"
        return next_state(BRANCH_TRANSITIONS, branch.state, event, about, IllegalTransition)

    def _move(self, branch: Branch, event: BranchEvent) -> None:
        """Change the state. Raises :class:`~engine.xa.errors.IllegalTransition`."""
        branch.state = self._after(branch, event)
        branch.since_us = self._now_us()
        if branch.state.is_final:
            self.open.pop(branch.xid, None)
            self.ended.append(branch)
            branch.voted.set()
            self.bank.done_with(branch.work, branch.state.value)
        if self._on_changed is not None:
            self._on_changed(branch)

    # --- participation -----------------------------------------------------------------------------------------------

    @answers(XaRequestCode.XA_ENLIST, EnlistRequestHeader)
    async def _enlist(self, header: EnlistRequestHeader) -> None:
        work = _work_of(header)
        if len(self.open) >= self.config.max_open_branches:
            raise XaRefused(f"{self.name} has {len(self.open)} open branches; allowed: {self.config.max_open_branches}")
        await step("registers the branch")
        register = RemotingCommand.request(
            XaRequestCode.XA_REGISTER_BRANCH, RegisterBranchRequestHeader(header.xid, self.name, self.address)
        )
        try:
            reply = await self._client.call(self._coordinator_address, register, self.config.register_timeout_ms)
        except RemotingError as error:
            raise XaRefused(f"{self.name} cannot reach the coordinator: {error}") from error
        if reply.code != ResponseCode.SUCCESS:
            raise XaRefused(f"the coordinator refuses: {reply.remark}")
        if header.xid not in self.open:
            branch = self.open[header.xid] = Branch(work, self._now_us())
            if self._on_changed is not None:
                self._on_changed(branch)

    # --- phase one ---------------------------------------------------------------------------------------------------

    @answers(XaRequestCode.XA_PREPARE_BRANCH, XidHeader)
    async def _prepare(self, header: XidHeader) -> VoteResponseHeader:
        branch = self.open.get(header.xid)
        if branch is None:
            # Finished, or enlisted with a previous process.
            is_prepared = self.bank.state_of(header.xid) is BranchState.COMMITTED
            return VoteResponseHeader(is_prepared, "" if is_prepared else "it has no such branch (any more)")
        if branch.state is BranchState.ENLISTED:
            await self._prepare_branch(branch)
        else:
            await branch.voted.wait()
        is_prepared = branch.state in (BranchState.PREPARED, BranchState.COMMITTED)
        return VoteResponseHeader(is_prepared, branch.reason)

    async def _prepare_branch(self, branch: Branch) -> None:
        """Run a branch up to its vote: prepared, or rolled back. It may be rolled back from outside at any await."""
        self._move(branch, BranchEvent.LOCK)
        await step("waits for the lock on the account")
        if not branch.state.is_final:
            is_mine = await self.locks.acquire(branch.account, branch.xid, self.config.lock_wait_timeout_ms)
            if not is_mine and not branch.state.is_final:
                holder = self.locks.holder_of(branch.account)
                self._give_up(branch, f"{branch.account} is locked by {holder} for too long")
        if not branch.state.is_final:
            self._move(branch, BranchEvent.WORK)
            self.bank.at_work(branch.work)
            await asyncio.sleep(self._work_ms / 1_000)
            await step("writes down what it will post")
        if not branch.state.is_final:
            self._promise(branch)
        if branch.state.is_final:
            # Also release a lock that was granted after the branch was finished.
            self.locks.release(branch.account, branch.xid)

    def _promise(self, branch: Branch) -> None:
        problem = self.bank.prepare(branch.work, self._runtime.clock.now_ms())
        if problem:
            self._give_up(branch, problem)
        else:
            self._move(branch, BranchEvent.VOTE_YES)
            branch.voted.set()

    def _give_up(self, branch: Branch, reason: str) -> None:
        """Vote no: nothing was promised, so the coordinator need not be asked."""
        branch.reason = reason
        self._move(branch, BranchEvent.ROLLBACK)

    # --- phase two ---------------------------------------------------------------------------------------------------

    @answers(XaRequestCode.XA_COMMIT_BRANCH, XidHeader)
    def _commit(self, header: XidHeader) -> None:
        self._obey(header.xid, Decision.COMMIT)

    @answers(XaRequestCode.XA_ROLLBACK_BRANCH, XidHeader)
    def _roll_back(self, header: XidHeader) -> None:
        self._obey(header.xid, Decision.ROLLBACK)

    def _obey(self, xid: str, decision: Decision) -> None:
        """Carry out the decision, once. Raises :class:`XaError`: then the coordinator sends it again."""
        branch = self.open.get(xid)
        event = BranchEvent.COMMIT if decision is Decision.COMMIT else BranchEvent.ROLLBACK
        about = f"branch {xid} at {self.name}"
        if branch is None:
            state = self.bank.state_of(xid)
            # A repeated order, or a rollback of something that was never promised.
            if (state is BranchState.COMMITTED) is (decision is Decision.COMMIT):
                return
            raise IllegalTransition(f"{about} is {state or 'unknown'}: {event!s} is not allowed")
        # A forbidden order is refused before anything is written.
        self._after(branch, event)
        if branch.state is BranchState.PREPARED:
            self._write_end(branch, decision)
        self._move(branch, event)
        self.locks.give_up(branch.account, xid)
        self.locks.release(branch.account, xid)

    def _write_end(self, branch: Branch, decision: Decision) -> None:
        at_ms = self._runtime.clock.now_ms()
        try:
            if decision is Decision.COMMIT:
                self.bank.commit(branch.work, at_ms)
            else:
                self.bank.roll_back(branch.work, at_ms)
        except BankError as error:
            raise XaError(f"{self.name} cannot write the end of {branch.xid}: {error}") from error

    async def _ask_about_doubts(self) -> None:
        """Query the decisions of branches in doubt: the order may be lost, or the coordinator restarted."""
        overdue_us = self._now_us() - self.config.query_interval_ms * 1_000
        for branch in self.in_doubt:
            if branch.since_us > overdue_us:
                continue
            await step("asks for the decision")
            question = RemotingCommand.request(XaRequestCode.XA_QUERY_DECISION, XidHeader(branch.xid))
            try:
                reply = await self._client.call(self._coordinator_address, question, self.config.query_timeout_ms)
                decision = DecisionResponseHeader.decode(reply.ext_fields).decision
            except (RemotingError, ProtocolError) as error:
                _log.info("%s stays in doubt: %s", branch.xid, error)
                continue
            if branch.state is BranchState.PREPARED and decision in (Decision.COMMIT, Decision.ROLLBACK):
                self._obey(branch.xid, Decision(decision))

    # --- the bank's own business -------------------------------------------------------------------------------------

    async def look_up_balance(self, account: str, customer: str) -> int | None:
        """Look up a balance like a customer at a cash machine: without the coordinator, but with the lock. None: lock
        timeout.
        """
        if not await self.locks.acquire(account, customer, self.config.lock_wait_timeout_ms):
            return None
        try:
            return self.bank.accounts.committed_balance(account)
        finally:
            self.locks.release(account, customer)


def _work_of(header: EnlistRequestHeader) -> BranchWork:
    """Return the work in a request. Raises :class:`XaRefused` if it is not half of a transfer."""
    allowed = (Doing.DEBIT.value, Doing.CREDIT.value)
    if header.doing not in allowed:
        raise XaRefused(f"doing {header.doing!r} is not allowed; allowed: {', '.join(allowed)}")
    if not 0 < header.amount <= AMOUNT_MAX:
        raise XaRefused(f"amount {header.amount} is not allowed; allowed: 1 to {AMOUNT_MAX}")
    transfer = Transfer(header.key, header.from_account, header.to_account, header.amount)
    return BranchWork(header.xid, Doing(header.doing), transfer)
