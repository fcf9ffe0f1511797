"""The transaction coordinator (TC), which tracks global transactions and their branches, and completes them
consistently.

It guarantees that no two branches of a transaction end differently, whatever crashes: a commit is durable before it is
sent (:mod:`engine.xa.coordinator_log`), a branch that voted yes waits for the decision, and an order is sent again
until it is acknowledged. Its weakness: while it is down, no other process may decide.

In RocketMQ the broker has a similar role for transactional messages
(:mod:`engine.broker.transactions.end_transaction_processor`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError
from engine.remoting.processor import answers
from engine.remoting.remoting_client import RemotingClient
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import DiskFault
from engine.runtime.step import step
from engine.xa.config import CoordinatorConfig
from engine.xa.coordinator_log import CoordinatorLog, CoordinatorRecord
from engine.xa.errors import IllegalTransition, LogFull, XaRefused
from engine.xa.global_transaction import (
    GlobalBranch,
    GlobalTransaction,
    branch_record,
    decision_record,
    read_transactions,
    vote_record,
)
from engine.xa.headers import (
    BeginRequestHeader,
    DecisionResponseHeader,
    RegisterBranchRequestHeader,
    VoteResponseHeader,
    XidHeader,
)
from engine.xa.request_codes import XaRequestCode
from engine.xa.states import BranchVote, Decision, GlobalEvent, GlobalState

if TYPE_CHECKING:
    from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.xa")

#: The number of finished transactions that are still shown.
ENDED_KEPT = 32


class XaTransactionCoordinator:
    """A transaction coordinator.

    :param name: part of every xid.
    :param on_changed: called with each global transaction when it begins, and right after its state has changed.
    :ivar open: the unfinished transactions, by xid.
    :ivar ended: the newest finished ones; ``ended_count``: how many this process has finished.
    :ivar process: number of this process, from 1.
    :ivar log: None before ``start``.
    """

    def __init__(
        self,
        runtime: Runtime,
        name: str,
        config: CoordinatorConfig | None = None,
        on_changed: Callable[[GlobalTransaction], None] | None = None,
    ) -> None:
        self.name = name
        self._on_changed = on_changed
        self.config = config or CoordinatorConfig()
        self.open: dict[str, GlobalTransaction] = {}
        self.ended: deque[GlobalTransaction] = deque(maxlen=ENDED_KEPT)
        self.log: CoordinatorLog | None = None
        self._runtime = runtime
        self._server = RemotingServer(runtime, f"coordinator {name}")
        self._client = RemotingClient(runtime, f"coordinator {name}")
        self._background = BackgroundTasks(f"coordinator {name}")
        self.process = 0
        self.ended_count = 0
        self._begun = 0
        self._server.processors.register_methods(self)

    # --- life cycle --------------------------------------------------------------------------------------------------

    async def start(self, host: str, port: int) -> None:
        """Take over the state of the last process, then listen. Raises ``DiskFault``, ``AddressInUse``."""
        self.log = CoordinatorLog(self._runtime.disk, self.config.log_file_bytes)
        self.process, self.open = read_transactions(self.log.records_read, self._now_us())
        self.process += 1
        self.log.rewrite(self._records())
        await self._server.start(host, port)
        for transaction in list(self.open.values()):
            if transaction.is_decided:
                self._carry_out(transaction)
            else:
                # Presumed abort: no decision was sent, so no process can have relied on one.
                self._decide_rollback(transaction, "the coordinator was restarted before there was a decision")
        self._background.every(self.config.timeout_scan_interval_ms, self._scan_timeouts, "timeout scan")

    async def shutdown(self) -> None:
        """Stop. Unfinished transactions continue in the next process."""
        await self._background.stop()
        await self._client.shutdown()
        await self._server.shutdown()
        if self.log is not None:
            self.log.close()

    @property
    def address(self) -> str:
        """Return the ``"ip:port"``, once started."""
        return self._server.address

    @property
    def transactions(self) -> list[GlobalTransaction]:
        """Return the newest finished transactions and all unfinished ones, oldest first."""
        return [*self.ended, *self.open.values()]

    def _move(self, transaction: GlobalTransaction, event: GlobalEvent) -> None:
        transaction.move(event)
        self._report(transaction)

    def _report(self, transaction: GlobalTransaction) -> None:
        if self._on_changed is not None:
            self._on_changed(transaction)

    def _records(self) -> list[CoordinatorRecord]:
        """Return all records that the log must contain now."""
        records: list[CoordinatorRecord] = [{"kind": "started", "process": self.process}]
        for transaction in self.open.values():
            records += transaction.records()
        return records

    def _append(self, record: CoordinatorRecord) -> None:
        """Append a record. Raises :class:`LogFull`, also if the disk is full."""
        assert self.log is not None, "the coordinator was not started"
        try:
            if not self.log.has_room_for(record):
                self.log.rewrite(self._records())
            self.log.append(record)
        except DiskFault as error:
            raise LogFull(str(error)) from error

    def _note(self, record: CoordinatorRecord) -> None:
        """Append a record that presumed abort does not need; it is left out if there is no room."""
        try:
            self._append(record)
        except LogFull as error:
            _log.warning("not in the log: %s (%s)", record, error)

    def _now_us(self) -> int:
        return self._runtime.clock.monotonic_us()

    # --- before the votes --------------------------------------------------------------------------------------------

    @answers(XaRequestCode.XA_BEGIN, BeginRequestHeader)
    def _begin(self, header: BeginRequestHeader) -> XidHeader:
        if len(self.open) >= self.config.max_open_transactions:
            raise XaRefused(
                f"{len(self.open)} global transactions are open; allowed: {self.config.max_open_transactions}"
            )
        self._begun += 1
        xid = f"{self.name}-{self.process}-{self._begun}"
        self._append({"kind": "begun", "xid": xid, "key": header.key})
        self.open[xid] = GlobalTransaction(xid, header.key, self._now_us())
        self._report(self.open[xid])
        return XidHeader(xid)

    @answers(XaRequestCode.XA_REGISTER_BRANCH, RegisterBranchRequestHeader)
    def _register_branch(self, header: RegisterBranchRequestHeader) -> None:
        transaction = self._find(header.xid)
        if header.resource not in transaction.branches:
            if transaction.state is not GlobalState.ACTIVE:
                raise XaRefused(f"{header.xid} is {transaction.state}: {header.resource} cannot take part any more")
            branch = GlobalBranch(header.resource, header.address)
            self._append(branch_record(header.xid, branch))
            transaction.branches[header.resource] = branch

    def _find(self, xid: str) -> GlobalTransaction:
        transaction = self.open.get(xid)
        if transaction is None:
            raise XaRefused(f"there is no open global transaction {xid}")
        return transaction

    # --- phase one ---------------------------------------------------------------------------------------------------

    @answers(XaRequestCode.XA_PREPARE_GLOBAL, XidHeader)
    async def _prepare_global(self, header: XidHeader) -> VoteResponseHeader:
        transaction = self._find(header.xid)
        if transaction.state is GlobalState.ACTIVE:
            self._move(transaction, GlobalEvent.VOTE)
            self._ask_for_votes(transaction)
        await transaction.voted.wait()
        return VoteResponseHeader(transaction.is_prepared, transaction.reason)

    def _ask_for_votes(self, transaction: GlobalTransaction) -> None:
        """Ask one branch after the other, without waiting in between: they work in parallel."""
        if not transaction.branches:
            self._count_votes(transaction, "nobody takes part")
        for branch in transaction.branches.values():
            self._background.spawn(self._ask_for_vote(transaction, branch), f"vote of {branch.resource}")

    async def _ask_for_vote(self, transaction: GlobalTransaction, branch: GlobalBranch) -> None:
        await step("asks for a vote")
        problem = await self._vote_of(transaction, branch)
        if transaction.state is GlobalState.VOTING:
            # Otherwise another branch has voted no already, or it was rolled back: the vote is too late to count.
            branch.vote = BranchVote.NO if problem else BranchVote.YES
            self._note(vote_record(transaction.xid, branch))
            self._count_votes(transaction, problem)

    def _count_votes(self, transaction: GlobalTransaction, problem: str) -> None:
        """Count a vote: a no, with its reason, decides immediately; otherwise all votes are needed."""
        if problem:
            transaction.reason = problem
            self._move(transaction, GlobalEvent.ONE_NO)
            transaction.voted.set()
        elif all(branch.vote is BranchVote.YES for branch in transaction.branches.values()):
            self._move(transaction, GlobalEvent.ALL_YES)
            transaction.voted.set()

    async def _vote_of(self, transaction: GlobalTransaction, branch: GlobalBranch) -> str:
        """Return why a vote is not a yes; "" if it is. A missing reply is a no."""
        request = RemotingCommand.request(XaRequestCode.XA_PREPARE_BRANCH, XidHeader(transaction.xid))
        try:
            reply = await self._client.call(branch.address, request, self.config.prepare_timeout_ms)
            vote = VoteResponseHeader(is_prepared=False, reason=reply.remark or "")
            if reply.code == ResponseCode.SUCCESS:
                vote = VoteResponseHeader.decode(reply.ext_fields)
        except (RemotingError, ProtocolError) as error:
            vote = VoteResponseHeader(is_prepared=False, reason=str(error))
        return "" if vote.is_prepared else f"{branch.resource}: {vote.reason}"

    # --- the decision ------------------------------------------------------------------------------------------------

    @answers(XaRequestCode.XA_COMMIT_GLOBAL, XidHeader)
    async def _commit_global(self, header: XidHeader) -> DecisionResponseHeader:
        transaction = self._find_or_remember(header.xid)
        if not transaction.is_decided:
            if transaction.state is not GlobalState.PREPARED:
                raise IllegalTransition(
                    f"{header.xid} is {transaction.state}: it can be committed when all have voted yes"
                )
            await self._decide_commit(transaction)
        await transaction.reported.wait()
        return _answer(transaction)

    async def _decide_commit(self, transaction: GlobalTransaction) -> None:
        try:
            self._append(decision_record(transaction, Decision.COMMIT))
        except LogFull as error:
            self._decide_rollback(transaction, f"the decision cannot be written down: {error}")
            return
        # From here on it can only be committed; but no process may learn that before it is durable.
        self._move(transaction, GlobalEvent.COMMIT)
        await step("makes the decision durable")
        await self._flush()
        transaction.reported.set()
        self._carry_out(transaction)

    async def _flush(self) -> None:
        assert self.log is not None, "the coordinator was not started"
        while True:
            try:
                return await self.log.flush()
            except DiskFault as error:
                # Nothing was sent yet. Rolling back now would be wrong if the record did reach the disk.
                _log.error("the decision waits for the disk: %s", error)
                await asyncio.sleep(self.config.order_again_ms / 1_000)

    @answers(XaRequestCode.XA_ROLLBACK_GLOBAL, XidHeader)
    async def _rollback_global(self, header: XidHeader) -> DecisionResponseHeader:
        transaction = self._find_or_remember(header.xid)
        if not transaction.is_decided:
            self._decide_rollback(transaction, transaction.reason or "the manager gave it up")
        await transaction.reported.wait()
        return _answer(transaction)

    def _decide_rollback(self, transaction: GlobalTransaction, reason: str) -> None:
        transaction.reason = reason
        self._move(transaction, GlobalEvent.ROLLBACK)
        self._note(decision_record(transaction, Decision.ROLLBACK))
        transaction.voted.set()
        transaction.reported.set()
        self._carry_out(transaction)

    def _scan_timeouts(self) -> None:
        """Roll back transactions that their manager has left undecided for too long."""
        limit_us = self.config.transaction_timeout_ms * 1_000
        for transaction in list(self.open.values()):
            if not transaction.is_decided and self._now_us() - transaction.begun_us >= limit_us:
                self._decide_rollback(transaction, f"not decided within {self.config.transaction_timeout_ms} ms")

    # --- phase two ---------------------------------------------------------------------------------------------------

    def _carry_out(self, transaction: GlobalTransaction) -> None:
        """Send the decision to every branch until it has acknowledged."""
        waiting = [branch for branch in transaction.branches.values() if branch.vote is not BranchVote.DONE]
        if not waiting:
            self._end(transaction)
        for branch in waiting:
            name = f"{transaction.decision} {transaction.xid} at {branch.resource}"
            self._background.spawn(self._order(transaction, branch), name)

    async def _order(self, transaction: GlobalTransaction, branch: GlobalBranch) -> None:
        is_commit = transaction.decision is Decision.COMMIT
        code = XaRequestCode.XA_COMMIT_BRANCH if is_commit else XaRequestCode.XA_ROLLBACK_BRANCH
        await step("orders the commit of a branch" if is_commit else "orders the rollback of a branch")
        while True:
            if await self._is_obeyed(branch, RemotingCommand.request(code, XidHeader(transaction.xid))):
                break
            await asyncio.sleep(self.config.order_again_ms / 1_000)
        branch.vote = BranchVote.DONE
        self._note(vote_record(transaction.xid, branch))
        if all(other.vote is BranchVote.DONE for other in transaction.branches.values()):
            self._end(transaction)

    async def _is_obeyed(self, branch: GlobalBranch, order: RemotingCommand) -> bool:
        try:
            reply = await self._client.call(branch.address, order, self.config.order_timeout_ms)
        except RemotingError as error:
            _log.info("%s does not answer: %s", branch.resource, error)
            return False
        if reply.code != ResponseCode.SUCCESS:
            _log.error("%s does not comply: %s", branch.resource, reply.remark)
        return reply.code == ResponseCode.SUCCESS

    def _end(self, transaction: GlobalTransaction) -> None:
        self._move(transaction, GlobalEvent.ALL_DONE)
        self._note({"kind": "ended", "xid": transaction.xid})
        self.open.pop(transaction.xid, None)
        self.ended.append(transaction)
        self.ended_count += 1

    # --- queries -----------------------------------------------------------------------------------------------------

    @answers(XaRequestCode.XA_QUERY_DECISION, XidHeader)
    def _query_decision(self, header: XidHeader) -> DecisionResponseHeader:
        """Answer a branch's query. For a transaction without a known commit, abort is presumed.

        That misleads no branch: a commit is only forgotten when all branches have acknowledged it.
        """
        try:
            return _answer(self._find_or_remember(header.xid))
        except XaRefused as unknown:
            return DecisionResponseHeader(Decision.ROLLBACK.value, str(unknown))

    def _find_or_remember(self, xid: str) -> GlobalTransaction:
        """Return the transaction, unfinished or finished. Raises :class:`XaRefused`, because a manager may ask too
        late.
        """
        for transaction in reversed(self.ended):
            if transaction.xid == xid:
                return transaction
        return self._find(xid)


def _answer(transaction: GlobalTransaction) -> DecisionResponseHeader:
    return DecisionResponseHeader(transaction.decision.value, transaction.reason)
