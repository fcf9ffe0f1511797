"""Random faults against a Raft group: elections and crashes by the hundred, and nothing acknowledged is lost.

The loss is counted here once more, without the checkers: what was reported to clients as committed, in the newest log.
``GLASSMQ_SWEEP_SEEDS=1000 make test TESTS=tests/lab/raft/test_raft_sweep.py`` runs a thousand seeds of each scenario in
eight minutes of one core.
"""

from __future__ import annotations

from collections import Counter

import pytest

from engine.lab.raft.raft_peer_node import RaftPeerNode, key_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import FaultKind
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.fault_plan import draw_faults
from engine.lab.sweep.sweep import run_with_faults

pytestmark = pytest.mark.seeds(quick=2, full=20)
RAFT = ("majority-log", "split-brain", "old-term-commit", "membership-change")


def newest_log(run: LabRun) -> list[str]:
    """What the newest leader holds; in a group without one, the log that no voter could refuse, be it on a disk."""
    peers = run.world.roles(RaftPeerNode)
    leaders = [role for role in peers if role.is_leader]
    of = max(leaders, key=lambda role: role.term).name if leaders else ""
    logs = {role.name: role.peer.core.log.entries if role.peer else role.stored_entries() for role in peers}
    entries = logs.get(of) or max(logs.values(), key=lambda log: (log[-1].term, len(log)) if log else (0, 0))
    return [key_of(entry) for entry in entries]


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", RAFT)
def test_nothing_that_was_acknowledged_is_lost(name, seeds):
    scenario = load_scenario(name)
    assert FaultKind.DISK in scenario.fault_model.kinds, "slow and full disks are among the faults"
    figures: Counter[str] = Counter()
    lost: list[tuple[int, str]] = []
    for seed in range(1, seeds + 1):

        def count(run: LabRun, seed: int = seed) -> None:
            history = run.world.history
            log = newest_log(run)
            reported = [entry for entry in history.sends_returned if entry.status == "ok"]
            lost.extend((seed, entry.key) for entry in reported if entry.key not in log)
            figures["acknowledged"] += len(reported)
            figures["crashes"] += sum(change.status == "crashed" for change in history.nodes_changed)
            figures["terms"] += max(role.term for role in run.world.roles(RaftPeerNode))

        result = run_with_faults(scenario, seed, draw_faults(scenario, seed), count)
        assert result.violations == (), seed
        figures["events"] += result.events
    assert lost == [], dict(figures)
    assert figures["terms"] >= seeds, "leaders were elected"
