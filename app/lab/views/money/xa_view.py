"""Two-phase commits of a world over time, next to the transactional messages; and the roles of the nodes in either.

In a two-phase commit each node has one role; for transactional messages the corresponding ones: the broker coordinates
and keeps the half message, the producer begins, decides and has the local database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from app.lab.foundation.bounds import XA_TRANSACTIONS_SHOWN, XA_WAITS_SHOWN
from engine.bank.bank_action import COMMITTED, Doing
from engine.bank.paying_bank import TransferVariant
from engine.lab.nodes.cash_machine import CUSTOMER
from engine.lab.nodes.producer_node import ProducerNode
from engine.lab.nodes.xa_nodes import ResourceManagerNode
from engine.lab.scenario.kinds.node_spec import BankNodeSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.kinds.xa import CoordinatorSpec

if TYPE_CHECKING:
    from app.picture.world.two_phase_commit import (
        Blocked,
        BranchCourse,
        CashMachineWaits,
        Downtime,
        MessageTransfer,
        TransactionCourse,
        TwoPhaseCommits,
    )
    from engine.lab.nodes.history import BalanceLookup, LabHistory
    from engine.lab.scenario.kinds.bank_spec import BankSpec
    from engine.lab.scenario.scenario import Scenario
    from engine.lab.world.world import ScenarioWorld

_Entry = TypeVar("_Entry")


def roles_of(scenario: Scenario) -> dict[str, list[str]]:
    """Return the roles of each node (TC, TM, RM). Empty if no transaction spans several nodes."""
    has_half_messages = any(spec.transaction is not None for spec in scenario.of_kind(ProducerSpec))
    parts = {spec.name: spec.transaction_parts(has_half_messages=has_half_messages) for spec in scenario.nodes}
    return {name: list(roles) for name, roles in parts.items() if roles}


# ------------------------------------------------------------------------------------------------------ the world


class XaView:
    """The two-phase commits of one world and the transfers next to them; each call reads only what is new."""

    def __init__(self, world: ScenarioWorld) -> None:
        self._world = world
        self._has_coordinator = bool(world.scenario.of_kind(CoordinatorSpec))
        self._payers = {
            spec.name: spec.bank.duration_ms * 1_000
            for spec in world.scenario.of_kind(ProducerSpec)
            if spec.bank is not None and spec.bank.way is TransferVariant.TRANSACTION
        }
        self._read: dict[str, int] = {}
        self._globals: dict[str, TransactionCourse] = {}
        #: xid -> node -> the branch.
        self._branches: dict[str, dict[str, BranchCourse]] = {}
        self._messages: dict[str, MessageTransfer] = {}
        self._seen: object = None
        self._built: TwoPhaseCommits | None = None

    def build(self) -> TwoPhaseCommits | None:
        """Return the view; the same object as long as nothing happens."""
        if not self._has_coordinator:
            return None
        blocked, waits = self._blocked(), self._waits()
        is_new = self._take_news()
        if is_new or self._built is None or self._seen != (blocked, waits):
            self._seen = (blocked, waits)
            self._built = {
                "transactions": self._transactions(),
                "messages": list(self._messages.values())[-XA_TRANSACTIONS_SHOWN:],
                "blocked": blocked,
                "waits": waits,
                "down": self._down(),
            }
        return self._built

    # ------------------------------------------------------------------------------ history

    def _take_news(self) -> bool:
        history = self._world.history
        return any(
            [
                self._take_globals(history),
                self._take_branches(history),
                self._take_sends(history),
                self._take_entries(history),
                bool(self._news("nodes", history.nodes_changed)),
            ]
        )

    def _news(self, name: str, entries: list[_Entry]) -> list[_Entry]:
        """Return the entries that are new since the last call."""
        first = self._read.get(name, 0)
        self._read[name] = len(entries)
        return entries[first:]

    def _take_globals(self, history: LabHistory) -> bool:
        entries = self._news("globals", history.globals_changed)
        for entry in entries:
            known = self._globals.get(entry.xid)
            self._globals[entry.xid] = {
                "node": entry.node if known is None else known["node"],
                "xid": entry.xid,
                "key": entry.key if known is None else known["key"],
                "state": entry.state,
                "reason": entry.reason,
                "steps": [*([] if known is None else known["steps"]), [entry.time_us, entry.state]],
                "branches": [],
            }
        return bool(entries)

    def _take_branches(self, history: LabHistory) -> bool:
        entries = self._news("branches", history.branches_changed)
        for entry in entries:
            branches = self._branches.setdefault(entry.xid, {})
            known = branches.get(entry.node)
            branches[entry.node] = {
                "node": entry.node,
                "xid": entry.xid,
                "key": entry.key if known is None else known["key"],
                "doing": entry.doing,
                "state": entry.state,
                "reason": entry.reason,
                "steps": [*([] if known is None else known["steps"]), [entry.time_us, entry.state]],
            }
        return bool(entries)

    def _take_sends(self, history: LabHistory) -> bool:
        begun = self._news("sends", history.sends_invoked)
        ended = self._news("returns", history.sends_returned)
        for send in begun:
            if send.node in self._payers:
                self._messages[send.key] = {
                    "key": send.key,
                    "node": send.node,
                    "sent_us": send.time_us,
                    "debit_us": None,
                    "debited_us": None,
                    "credited_us": None,
                    "end": None,
                }
        for answer in ended:
            if answer.status != "ok":
                self._end_message(answer.key, "refused")
        return bool(begun or ended)

    def _take_entries(self, history: LabHistory) -> bool:
        entries = self._news("entries", history.bank_entries)
        for entry in entries:
            known = self._messages.get(entry.key)
            if known is None:
                continue
            message = self._messages[entry.key] = known.copy()
            if entry.doing == Doing.DEBIT and entry.outcome == COMMITTED:
                message["debit_us"] = max(message["sent_us"], entry.time_us - self._payers.get(entry.node, 0))
                message["debited_us"] = entry.time_us
            elif entry.doing == Doing.CREDIT and entry.outcome == COMMITTED:
                message["credited_us"] = entry.time_us
                message["end"] = "credited"
            elif entry.doing == Doing.DEBIT or (entry.doing == Doing.CHECK and entry.outcome == "rollback"):
                message["end"] = message["end"] or "rolled-back"
        return bool(entries)

    def _end_message(self, key: str, end: str) -> None:
        known = self._messages.get(key)
        if known is not None and known["debited_us"] is None:
            self._messages[key] = {**known, "end": end}

    def _transactions(self) -> list[TransactionCourse]:
        shown = list(self._globals.items())[-XA_TRANSACTIONS_SHOWN:]
        return [{**course, "branches": [*self._branches.get(xid, {}).values()]} for xid, course in shown]

    # ------------------------------------------------------------------------------ waiters

    def _blocked(self) -> list[Blocked]:
        managers = self._world.roles(ResourceManagerNode)
        found = [wait for role in managers for wait in self._branch_waits(role)]
        with_machines: list[ResourceManagerNode | ProducerNode] = [*managers, *self._world.roles(ProducerNode)]
        for role in with_machines:
            waits = role.cash_machine.waits if role.cash_machine is not None else None
            if waits is not None and waits[0]:
                found.append(self._wait(role.name, CUSTOMER, waits[0], waits[1], None, is_in_vain=False))
        lookups = [entry for entry in self._world.history.balance_lookups if entry.time_us > entry.began_us]
        found += [self._lookup_wait(entry) for entry in lookups[-XA_WAITS_SHOWN:]]
        found.sort(key=lambda wait: (wait["since_us"], wait["node"]))
        return found[-XA_WAITS_SHOWN:]

    def _branch_waits(self, role: ResourceManagerNode) -> list[Blocked]:
        manager = role.resource_manager
        waits = [*role.past_waits, *(manager.locks.waits if manager is not None else ())]
        return [
            self._wait(role.name, wait.waiter, wait.holder, wait.since_us, wait.until_us, is_in_vain=wait.is_in_vain)
            for wait in waits
            if wait.waiter != CUSTOMER and wait.until_us != wait.since_us
        ]

    def _lookup_wait(self, entry: BalanceLookup) -> Blocked:
        return self._wait(
            entry.node,
            CUSTOMER,
            entry.holder,
            entry.began_us,
            entry.time_us,
            is_in_vain=entry.balance is None,
        )

    def _wait(
        self,
        node: str,
        waiter: str,
        holder: str,
        since_us: int,
        until_us: int | None,
        *,
        is_in_vain: bool,
    ) -> Blocked:
        bank = self._bank_of(node)
        return {
            "node": node,
            "bank": bank.name,
            "account": bank.account,
            "waiter": waiter,
            "by": holder,
            "since_us": since_us,
            "until_us": until_us,
            "in_vain": is_in_vain,
        }

    def _down(self) -> list[Downtime]:
        """Return the latest stretches without a process; one that has not come back has no end."""
        stretches: list[Downtime] = []
        gone: dict[str, Downtime] = {}
        for change in self._world.history.nodes_changed:
            if change.status == "crashed" and change.node not in gone:
                gone[change.node] = {"node": change.node, "since_us": change.time_us, "until_us": None}
                stretches.append(gone[change.node])
            elif change.status == "restarted" and change.node in gone:
                gone.pop(change.node)["until_us"] = change.time_us
        return stretches[-XA_WAITS_SHOWN:]

    def _waits(self) -> list[CashMachineWaits]:
        """Return the waits of each cash machine."""
        summaries: dict[str, CashMachineWaits] = {}
        for entry in self._world.history.balance_lookups:
            summary = summaries.setdefault(
                entry.node,
                {
                    "node": entry.node,
                    "bank": self._bank_of(entry.node).name,
                    "count": 0,
                    "longest_us": 0,
                    "in_vain": 0,
                },
            )
            summary["count"] += 1
            summary["longest_us"] = max(summary["longest_us"], entry.time_us - entry.began_us)
            summary["in_vain"] += entry.balance is None
        return [*summaries.values()]

    def _bank_of(self, node: str) -> BankSpec:
        bank = self._world.spec_of(BankNodeSpec, node).bank
        assert bank is not None, "only banks have cash machines and locks"
        return bank
