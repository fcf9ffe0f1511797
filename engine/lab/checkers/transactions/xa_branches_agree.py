"""Checker: the branches of a global transaction end in the same way, and the manager's result is correct.

Anomalies: *lost write* (one branch is committed and another rolled back; or the manager's result is "committed" and a
branch is rolled back), *stuck* (nothing has been wrong for long, and a branch still waits for the coordinator's
decision, or a transaction is not over).

Fault model: any. A coordinator that sends its decision before it is durable, a resource manager that forgets a promise
or ends a branch in doubt by itself, would break it. That all end at the same moment is not claimed: any time may pass
between the first and the last order. "Stuck" is claimed of a calm world only, in which the coordinator and the resource
managers run: while one of them is down, branches in doubt are the cost of two-phase commit.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import CALM_US, ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import BranchChanged
from engine.lab.nodes.xa_nodes import CoordinatorNode, ResourceManagerNode
from engine.lab.scenario.kinds.xa import ResourceManagerSpec
from engine.lab.scenario.scenario import Scenario
from engine.xa.states import BranchState
from engine.xa.transaction_manager import TransactionOutcome


class XaBranchesAgree(Checker):
    """Check that XA branches agree."""

    name = "xa-branches-agree"
    anomaly = Anomaly.LOST_WRITE

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: xid -> node -> how its branch ended.
        self._ends: dict[str, dict[str, BranchChanged]] = {}

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        return bool(scenario.of_kind(ResourceManagerSpec))

    def branch_changed(self, entry: BranchChanged) -> None:
        if entry.state not in (BranchState.COMMITTED, BranchState.ROLLED_BACK):
            return
        ends = self._ends.setdefault(entry.xid, {})
        ends[entry.node] = entry
        for other in ends.values():
            if other.state != entry.state:
                apart = self.text("apart", entry=entry, other=other)
                self.report({"message": entry.key, "node": entry.node}, apart)

    def run_ended(self) -> None:
        managers = self.world.roles(ResourceManagerNode)
        servers = [*managers, *self.world.roles(CoordinatorNode)]
        if self.watch.has_been_calm and all(role.status == "running" for role in servers):
            for role in managers:
                for doubtful in role.resource_manager.in_doubt if role.resource_manager is not None else ():
                    key, node = doubtful.work.transfer.key, role.name
                    stuck = self.text("stuck", xid=doubtful.xid, key=key, node=node)
                    self.report({"message": key, "node": node}, stuck, Anomaly.STUCK)
            for xid, key in self._never_ended():
                never = self.text("never_ended", xid=xid, key=key)
                self.report({"message": key}, never, Anomaly.STUCK)
        for ended in self.world.history.transfers_ended:
            for branch in self._ends.get(ended.xid, {}).values():
                reported, did = ended.outcome == TransactionOutcome.COMMITTED, branch.state == BranchState.COMMITTED
                if ended.outcome != TransactionOutcome.UNKNOWN and reported is not did:
                    untrue = self.text("untrue", manager=ended.node, branch=branch, outcome=ended.outcome)
                    self.report({"message": branch.key, "node": branch.node}, untrue)

    def _never_ended(self) -> list[tuple[str, str]]:
        """Return (xid, key) of transactions that a coordinator has had open for longer than all its steps may take."""
        since_us = self.watch.now_us - CALM_US
        return [
            (transaction.xid, transaction.key)
            for role in self.world.roles(CoordinatorNode)
            if role.coordinator is not None
            for transaction in role.coordinator.open.values()
            if transaction.begun_us < since_us
        ]
