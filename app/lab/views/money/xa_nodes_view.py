"""The nodes of a two-phase commit, for their cards on the stage."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import IN_FLIGHT_SHOWN
from app.lab.views.money.bank_view import account_without_database, open_actions, posting_rows, refused_view
from engine.bank.accounts import Accounts
from engine.bank.bank_action import Doing

if TYPE_CHECKING:
    from app.picture.world import bank as bank_picture
    from app.picture.world import two_phase_commit
    from engine.lab.nodes.cash_machine import CashMachine
    from engine.lab.nodes.xa_nodes import CoordinatorNode, ManagerNode, ResourceManagerNode, TransferUnderWay
    from engine.xa.resource_manager import Branch, ResourceManager

#: Ended branches that stay on the card.
_ENDED_SHOWN = 4


def coordinator_view(role: CoordinatorNode) -> two_phase_commit.CoordinatorNode:
    """Return the view of a coordinator."""
    coordinator = role.coordinator
    if coordinator is None or coordinator.log is None:
        return {"coordinator": None}
    log = coordinator.log
    transactions: list[two_phase_commit.GlobalTransaction] = [
        {
            "xid": transaction.xid,
            "key": transaction.key,
            "state": transaction.state.value,
            "reason": transaction.reason,
            "branches": [
                {"resource": branch.resource, "vote": branch.vote.value} for branch in transaction.branches.values()
            ],
        }
        for transaction in islice(coordinator.open.values(), IN_FLIGHT_SHOWN)
    ]
    return {
        "coordinator": {
            "process": coordinator.process,
            "log": {"end": log.end, "flushed": log.flushed, "size_bytes": log.size_bytes},
            "open": len(coordinator.open),
            "ended": coordinator.ended_count,
            "transactions": transactions,
        }
    }


def manager_view(role: ManagerNode) -> two_phase_commit.ManagerNode:
    """Return the view of a transaction manager."""
    under_way, transfers = role.under_way, role.spec.transfers
    ended: list[two_phase_commit.TransferEnded] = [
        {
            "key": entry.key,
            "xid": entry.xid,
            "outcome": entry.outcome,
            "reason": entry.reason,
            "time_us": entry.time_us,
        }
        for entry in role.ended
    ]
    return {
        "manager": {
            "under_way": None if under_way is None else _under_way(under_way),
            "counts": {outcome.value: count for outcome, count in role.counts.items()},
            "ended": ended,
            "total": 0 if transfers is None else transfers.count,
        }
    }


def _under_way(transfer: TransferUnderWay) -> two_phase_commit.TransferUnderWay:
    return {"key": transfer.key, "xid": transfer.xid, "phase": transfer.phase, "since_us": transfer.since_us}


def resource_manager_view(role: ResourceManagerNode) -> two_phase_commit.ResourceManagerNode:
    """Return the view of a resource manager."""
    manager = role.resource_manager
    return {
        "resource": None if manager is None else _resource(manager, role.node_bank.spec.account),
        "bank": _bank(role),
        "cash_machine": cash_machine_view(role.cash_machine),
    }


def _resource(manager: ResourceManager, account: str) -> two_phase_commit.Resource:
    branches = [_branch(branch) for branch in islice(manager.open.values(), IN_FLIGHT_SHOWN)]
    branches += [_branch(branch) for branch in list(manager.ended)[: -_ENDED_SHOWN - 1 : -1]]
    held = manager.locks.holders.get(account)
    waiting: list[two_phase_commit.LockWait] = [
        {"waiter": wait.waiter, "since_us": wait.since_us} for wait in manager.locks.waits if wait.until_us is None
    ]
    return {
        "branches": branches,
        "holder": None if held is None else held[0],
        "held_us": None if held is None else held[1],
        "waiting": waiting,
    }


def _branch(branch: Branch) -> two_phase_commit.Branch:
    return {
        "xid": branch.xid,
        "key": branch.work.transfer.key,
        "doing": branch.work.doing.value,
        "state": branch.state.value,
        "reason": branch.reason,
        "since_us": branch.since_us,
    }


def _bank(role: ResourceManagerNode) -> bank_picture.Bank:
    node_bank = role.node_bank
    spec, bank = node_bank.spec, node_bank.bank
    view: bank_picture.Bank = {
        "name": spec.name,
        "account": spec.account,
        "opening": spec.opening,
        "way": "two-phase-commit",
        "idempotent": None,
        "refused": [refused_view(entry) for entry in node_bank.refused],
        "duplicates_ignored": 0,
        **account_without_database(),
    }
    database = bank.accounts.database if bank is not None else node_bank.at_rest()
    if database is None:
        return view
    accounts = Accounts(database)
    view["balance"] = view["committed_balance"] = accounts.committed_balance(spec.account)
    view["rows"] = _rows(role, accounts)
    if bank is None:
        database.close()
        return view
    manager = role.resource_manager
    if manager is not None:
        view["is_locked"] = manager.locks.holder_of(spec.account) is not None
        view["waiters"] = [wait.waiter for wait in manager.locks.waits if wait.until_us is None]
    view["open"] = open_actions(bank)
    return view


def _rows(role: ResourceManagerNode, accounts: Accounts) -> list[bank_picture.Posting]:
    """Return the newest rows of both tables, oldest first; each says to which it belongs."""
    rows: list[bank_picture.Posting] = []
    for doing, table in ((Doing.DEBIT, "transfer"), (Doing.CREDIT, "credit")):
        for row in posting_rows(role, accounts, table):
            row["doing"] = doing.value
            rows.append(row)
    return sorted(rows, key=lambda row: row["time_us"])


def cash_machine_view(machine: CashMachine | None) -> bank_picture.CashMachine | None:
    """Return the view of a cash machine."""
    if machine is None:
        return None
    ended: list[bank_picture.BalanceShown] = [
        {"began_us": entry.began_us, "time_us": entry.time_us, "balance": entry.balance, "holder": entry.holder}
        for entry in machine.ended
    ]
    holder, since_us = machine.waits if machine.waits is not None else (None, None)
    return {"since_us": since_us, "holder": holder, "ended": ended}
