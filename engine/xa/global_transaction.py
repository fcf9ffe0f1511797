"""One global transaction, as the coordinator knows it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from engine.xa.coordinator_log import Record
from engine.xa.states import GLOBAL_TRANSITIONS, BranchVote, Decision, GlobalEvent, GlobalState, next_state

_DECISIONS = {
    GlobalState.COMMITTING: Decision.COMMIT,
    GlobalState.COMMITTED: Decision.COMMIT,
    GlobalState.ROLLING_BACK: Decision.ROLLBACK,
    GlobalState.ROLLED_BACK: Decision.ROLLBACK,
}


@dataclass(slots=True)
class GlobalBranch:
    """A resource manager that takes part. ``vote`` is what the coordinator has heard of it so far."""

    resource: str
    address: str
    vote: BranchVote = BranchVote.NONE


@dataclass(slots=True, eq=False)
class GlobalTransaction:
    """:ivar key: the application's name for it.
    :ivar branches: by resource, in the order in which they registered: that in which they are asked.
    :ivar begun_us: monotonic time; after a restart of the coordinator, that of the restart.
    :ivar reason: why it is rolled back; empty when nothing went wrong.
    :ivar voted: set once the votes are counted, or nobody waits for them any more.
    :ivar told: set once the decision may be told: it is durable, or it is a rollback.
    """

    xid: str
    key: str
    begun_us: int
    state: GlobalState = GlobalState.ACTIVE
    branches: dict[str, GlobalBranch] = field(default_factory=dict)
    reason: str = ""
    voted: asyncio.Event = field(default_factory=asyncio.Event)
    told: asyncio.Event = field(default_factory=asyncio.Event)

    def move(self, event: GlobalEvent) -> None:
        """Change the state. Raises :class:`~engine.xa.errors.IllegalTransition`."""
        self.state = next_state(GLOBAL_TRANSITIONS, self.state, event, f"global transaction {self.xid}")

    @property
    def decision(self) -> Decision:
        """What may be told of it. A commit that is not durable yet may not."""
        return _DECISIONS.get(self.state, Decision.UNDECIDED) if self.told.is_set() else Decision.UNDECIDED

    @property
    def is_decided(self) -> bool:
        """Whether the coordinator has made up its mind, perhaps not told yet."""
        return self.state in _DECISIONS

    @property
    def is_prepared(self) -> bool:
        """Whether all branches voted yes and nothing else was decided since."""
        return self.state in (GlobalState.PREPARED, GlobalState.COMMITTING, GlobalState.COMMITTED)

    def records(self) -> list[Record]:
        """What the log has to hold of it."""
        decision = _DECISIONS.get(self.state)
        lines: list[Record] = [{"kind": "begun", "xid": self.xid, "key": self.key}]
        lines += [branch_record(self.xid, branch) for branch in self.branches.values()]
        lines += [
            vote_record(self.xid, branch) for branch in self.branches.values() if branch.vote is not BranchVote.NONE
        ]
        if decision is not None:
            lines.append(decision_record(self, decision))
        return lines


def branch_record(xid: str, branch: GlobalBranch) -> Record:
    """A resource manager has registered."""
    return {"kind": "branch", "xid": xid, "resource": branch.resource, "address": branch.address}


def vote_record(xid: str, branch: GlobalBranch) -> Record:
    """A resource manager has voted, or done what was decided."""
    return {"kind": "vote", "xid": xid, "resource": branch.resource, "vote": branch.vote.value}


def decision_record(transaction: GlobalTransaction, decision: Decision) -> Record:
    """With all it takes to carry it out, should the lines before be lost."""
    addresses = {branch.resource: branch.address for branch in transaction.branches.values()}
    return {
        "kind": "decision",
        "xid": transaction.xid,
        "key": transaction.key,
        "decision": decision.value,
        "branches": addresses,
        "reason": transaction.reason,
    }


def read_transactions(records: list[Record], now_us: int) -> tuple[int, dict[str, GlobalTransaction]]:
    """The number of the last process, and what it had not ended, by xid; those without a decision are ``ACTIVE``."""
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
                transaction.told.set()
            case {"kind": "ended"}:
                found.pop(xid, None)
    return last_process, found
