"""The transaction manager (TM), on the application's side, which groups operations and orders commit or rollback.

It stores nothing on disk: a transaction whose manager is gone is rolled back by the coordinator when its timeout
expires. In RocketMQ the producer of transactional messages has this role.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from engine.bank.bank_action import Doing
from engine.bank.transfer import Transfer
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError
from engine.remoting.remoting_client import RemotingClient
from engine.runtime.step import step
from engine.xa.config import ManagerConfig
from engine.xa.errors import XaRefused
from engine.xa.headers import (
    BeginRequestHeader,
    DecisionResponseHeader,
    EnlistRequestHeader,
    VoteResponseHeader,
    XidHeader,
)
from engine.xa.request_codes import XaRequestCode
from engine.xa.states import Decision

if TYPE_CHECKING:
    from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.xa")


class TransactionOutcome(StrEnum):
    """The outcome of a transaction, as its manager knows it."""

    COMMITTED = "committed"
    ROLLED_BACK = "rolled-back"
    #: The coordinator does not answer, or has forgotten the transaction: the outcome is unknown.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """The result of a transaction. ``xid`` is empty if it was never begun; ``reason`` says why it was not committed."""

    xid: str
    outcome: TransactionOutcome
    reason: str = ""


class XaTransactionManager:
    """A transaction manager.

    :param coordinator_address: ``"ip:port"``.
    :param on_phase: called with key, xid and the manager's next step, for diagrams.
    """

    def __init__(
        self,
        runtime: Runtime,
        name: str,
        coordinator_address: str,
        config: ManagerConfig | None = None,
        on_phase: Callable[[str, str, str], None] | None = None,
    ) -> None:
        self.config = config or ManagerConfig()
        self._runtime = runtime
        self._coordinator = coordinator_address
        self._client = RemotingClient(runtime, f"manager {name}")
        self._on_phase = on_phase

    async def shutdown(self) -> None:
        """Close the connections; transactions in progress fail."""
        await self._client.shutdown()

    async def transfer(self, transfer: Transfer, from_address: str, to_address: str) -> TransactionResult:
        """Debit at the one resource manager and credit at the other, or neither.

        Never raises for faults of the network or of peers: the result reports them.
        """
        xid, key = "", transfer.key
        branches = ((from_address, Doing.DEBIT), (to_address, Doing.CREDIT))
        try:
            await self._next(key, xid, "begins the global transaction")
            request = RemotingCommand.request(XaRequestCode.XA_BEGIN, BeginRequestHeader(key))
            xid = XidHeader.decode((await self._call(self._coordinator, request)).ext_fields).xid
            for address, doing in branches:
                await self._next(key, xid, "enlists a resource manager")
                header = EnlistRequestHeader(
                    xid, doing.value, key, transfer.from_account, transfer.to_account, transfer.amount
                )
                await self._call(address, RemotingCommand.request(XaRequestCode.XA_ENLIST, header))
            await self._next(key, xid, "asks for the votes")
            request = RemotingCommand.request(XaRequestCode.XA_PREPARE_GLOBAL, XidHeader(xid))
            reply = await self._call(self._coordinator, request, self.config.votes_timeout_ms)
            votes = VoteResponseHeader.decode(reply.ext_fields)
            reason = votes.reason
            order = Decision.COMMIT if votes.is_prepared else Decision.ROLLBACK
        except (RemotingError, ProtocolError) as error:
            if not xid:
                return TransactionResult("", TransactionOutcome.ROLLED_BACK, f"not begun: {error}")
            order, reason = Decision.ROLLBACK, str(error)
        return await self._order(key, xid, order, reason)

    async def _order(self, key: str, xid: str, order: Decision, reason: str) -> TransactionResult:
        """Send the order until it is answered, and return the answer."""
        is_commit = order is Decision.COMMIT
        code = XaRequestCode.XA_COMMIT_GLOBAL if is_commit else XaRequestCode.XA_ROLLBACK_GLOBAL
        give_up_us = self._runtime.clock.monotonic_us() + self.config.order_for_ms * 1_000
        while True:
            await self._next(key, xid, "orders the commit" if is_commit else "orders the rollback")
            try:
                reply = await self._call(self._coordinator, RemotingCommand.request(code, XidHeader(xid)))
                answer = DecisionResponseHeader.decode(reply.ext_fields)
            except RemotingError as error:
                problem = str(error)
            except ProtocolError as error:
                return TransactionResult(xid, TransactionOutcome.UNKNOWN, str(error))
            else:
                is_committed = answer.decision == Decision.COMMIT
                outcome = TransactionOutcome.COMMITTED if is_committed else TransactionOutcome.ROLLED_BACK
                return TransactionResult(xid, outcome, "" if is_committed else answer.reason or reason)
            if self._runtime.clock.monotonic_us() >= give_up_us:
                return TransactionResult(xid, TransactionOutcome.UNKNOWN, problem)
            await asyncio.sleep(self.config.order_again_ms / 1_000)

    async def _next(self, key: str, xid: str, phase: str) -> None:
        await step(phase)
        if self._on_phase is not None:
            self._on_phase(key, xid, phase)

    async def _call(self, address: str, request: RemotingCommand, timeout_ms: int | None = None) -> RemotingCommand:
        """Call a peer. Raises ``RemotingError``; :class:`XaRefused` with the peer's reason."""
        reply = await self._client.call(address, request, timeout_ms or self.config.call_timeout_ms)
        if reply.code != ResponseCode.SUCCESS:
            raise XaRefused(reply.remark or f"code {reply.code}")
        return reply
