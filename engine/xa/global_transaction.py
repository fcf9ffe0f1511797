"""One global transaction, as the coordinator knows it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from engine.runtime.state_table import next_state
from engine.xa.coordinator_log import CoordinatorRecord
from engine.xa.errors import IllegalTransition
from engine.xa.states import GLOBAL_TRANSITIONS, BranchVote, Decision, GlobalEvent, GlobalState

_DECISIONS = {
    GlobalState.COMMITTING: Decision.COMMIT,
    GlobalState.COMMITTED: Decision.COMMIT,
    GlobalState.ROLLING_BACK: Decision.ROLLBACK,
    GlobalState.ROLLED_BACK: Decision.ROLLBACK,
}


@dataclass(slots=True)
class GlobalBranch:
    """A resource manager that takes part. ``vote`` is the last vote or acknowledgement that the coordinator has
    received.
    """

    resource: str
    address: str
    vote: BranchVote = BranchVote.NONE


@dataclass(slots=True, eq=False)
class GlobalTransaction:
    """A global transaction.

    :ivar key: the application's name for it.
    :ivar branches: by resource, in the order of their registration, which is also the order of the prepare requests.
    :ivar begun_us: monotonic time; after a restart of the coordinator, that of the restart.
    :ivar reason: why it is rolled back; empty if nothing went wrong.
    :ivar voted: set once the votes are counted, or no longer awaited.

    ``reported`` is set once the decision may be sent: it is durable, or it is a rollback.
    """

    xid: str
    key: str
    begun_us: int
    state: GlobalState = GlobalState.ACTIVE
    branches: dict[str, GlobalBranch] = field(default_factory=dict)
    reason: str = ""
    voted: asyncio.Event = field(default_factory=asyncio.Event)
    reported: asyncio.Event = field(default_factory=asyncio.Event)

    def move(self, event: GlobalEvent) -> None:
        """Change the state. Raises :class:`~engine.xa.errors.IllegalTransition`."""
        self.state = next_state(
            GLOBAL_TRANSITIONS, self.state, event, f"global transaction {self.xid}", IllegalTransition
        )

    @property
    def decision(self) -> Decision:
        """Return the decision that may be sent. A commit that is not durable yet may not."""
        return _DECISIONS.get(self.state, Decision.UNDECIDED) if self.reported.is_set() else Decision.UNDECIDED

    @property
    def is_decided(self) -> bool:
        """Return whether the coordinator has decided, even if the decision is not sent yet."""
        return self.state in _DECISIONS

    @property
    def is_prepared(self) -> bool:
        """Return whether all branches voted yes and no decision was made since."""
        return self.state in (GlobalState.PREPARED, GlobalState.COMMITTING, GlobalState.COMMITTED)

    def records(self) -> list[CoordinatorRecord]:
        """Return the records that the log must contain for the transaction."""
        decision = _DECISIONS.get(self.state)
        lines: list[CoordinatorRecord] = [{"kind": "begun", "xid": self.xid, "key": self.key}]
        lines += [branch_record(self.xid, branch) for branch in self.branches.values()]
        lines += [
            vote_record(self.xid, branch) for branch in self.branches.values() if branch.vote is not BranchVote.NONE
        ]
        if decision is not None:
            lines.append(decision_record(self, decision))
        return lines


def branch_record(xid: str, branch: GlobalBranch) -> CoordinatorRecord:
    """Return the record of a resource manager's registration."""
    return {"kind": "branch", "xid": xid, "resource": branch.resource, "address": branch.address}


def vote_record(xid: str, branch: GlobalBranch) -> CoordinatorRecord:
    """Return the record of a resource manager's vote, or of its acknowledgement of the decision."""
    return {"kind": "vote", "xid": xid, "resource": branch.resource, "vote": branch.vote.value}


def decision_record(transaction: GlobalTransaction, decision: Decision) -> CoordinatorRecord:
    """Return the record of a decision, with all that is needed to carry it out if the earlier records are lost."""
    addresses = {branch.resource: branch.address for branch in transaction.branches.values()}
    return {
        "kind": "decision",
        "xid": transaction.xid,
        "key": transaction.key,
        "decision": decision.value,
        "branches": addresses,
        "reason": transaction.reason,
    }


def read_transactions(records: list[CoordinatorRecord], now_us: int) -> tuple[int, dict[str, GlobalTransaction]]:
    """Return the number of the last process, and its unfinished transactions by xid; undecided ones are ``ACTIVE``."""
    last_process = 0
    found: dict[str, GlobalTransaction] = {}
    for record in records:
        xid = str(record.get("xid", ""))
        match record:
            case {"kind": "started", "process": int(process)}:
                last_process = process
            case {"kind": "begun", "key": key}:
                found[xid] = GlobalTransaction(xid, str(key), now_us)
            case {"kind": "branch", "resource": resource, "address": address} if xid in found:
                found[xid].branches[str(resource)] = GlobalBranch(str(resource), str(address))
            case {"kind": "vote", "resource": resource, "vote": vote} if xid in found:
                branch = found[xid].branches.get(str(resource))
                if branch is not None:
                    branch.vote = BranchVote(str(vote))
            case {"kind": "decision", "key": key, "decision": decision, "branches": dict(addresses)}:
                transaction = found.setdefault(xid, GlobalTransaction(xid, str(key), now_us))
                for resource, address in addresses.items():
                    transaction.branches.setdefault(str(resource), GlobalBranch(str(resource), str(address)))
                is_commit = decision == Decision.COMMIT
                transaction.state = GlobalState.COMMITTING if is_commit else GlobalState.ROLLING_BACK
                transaction.reason = str(record.get("reason", ""))
                transaction.reported.set()
            case {"kind": "ended"}:
                found.pop(xid, None)
    return last_process, found
