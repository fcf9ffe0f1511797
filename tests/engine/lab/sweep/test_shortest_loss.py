"""The shortest loss that a policy of replication allows, and that the search finds it where a rule is off."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.sweep.replication_policy import POLICIES, PolicyFamily, PolicyFault, ReplicationPolicy
from engine.lab.sweep.shortest_loss import search_loss

TABLE = Path(__file__).parents[4] / "static" / "lab" / "comparisons" / "replication-compare.json"


def known_search(name: str) -> dict[str, Any]:
    """What the page and the document say of it."""
    (search,) = (search for search in json.loads(TABLE.read_text())["searches"] if search["policy"] == name)
    return dict(search)


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if not policy.keeps])
def test_a_leader_that_waits_for_no_copy_needs_only_to_die(name) -> None:
    policy = POLICIES[name]
    found = search_loss(policy)
    assert asdict(found) == known_search(name)
    assert (found.schedules, found.faults, found.before) == (1, 1, "")
    assert found.lost > 0
    with LabRun.replay(parse_link(found.link)) as run:
        assert run.world.nodes[policy.machines[0]].status == "crashed"


#: Kafka's 663 schedules take four minutes of processor time: ``glassmq lab study replication-compare`` runs them.
SEARCHED_HERE = [name for name, policy in POLICIES.items() if policy.keeps and policy.family is not PolicyFamily.KAFKA]


@pytest.mark.thorough
@pytest.mark.parametrize("name", SEARCHED_HERE)
def test_a_policy_that_promises_to_keep_what_it_acknowledged_does(name) -> None:
    found = search_loss(POLICIES[name])
    assert (found.faults, found.lost) == (0, 0)
    assert asdict(found) == known_search(name)


@pytest.mark.thorough
def test_with_raft_s_rule_about_logs_switched_off_a_loss_is_found_after_one_fault_more() -> None:
    # A member that knows of a commit does not give way, and the group stands still: so heartbeats tell of it late here.
    rules: dict[str, str | int] = {"checks_log_is_up_to_date": "false", "heartbeat_ms": 100}
    careless = ReplicationPolicy("raft-majority", PolicyFamily.RAFT, False, rules)
    found = search_loss(careless)
    assert (found.faults, found.before) == (2, PolicyFault.SLOW_FOLLOWER.value)
    assert found.lost > 0
