"""Small worlds with a two-phase commit, and ways to stop them in the middle of a transaction."""

from __future__ import annotations

from engine.lab.nodes.xa_nodes import CoordinatorNode, ResourceManagerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.scenario_text import parse_scenario
from engine.xa.resource_manager import ResourceManager
from engine.xa.transaction_coordinator import XaTransactionCoordinator

#: TM moves 10 from A at R1 to B at R2, twice; R1 and R2 need 50 ms of work each; a link takes 5 ms.
TEXT = """
title: {en: Two-phase commit, zh: 两阶段提交}
about: {en: A test., zh: 测试。}
duration_ms: 200000
network: {latency_ms: 5, jitter_ms: 0}
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  TC: {role: transaction_coordinator, disk: {fsync_ms: 5}, settings: {transaction_timeout_ms: 10000}}
  TM:
    role: transaction_manager
    transfers: {from: R1, to: R2, amount: 10, count: 2, every_ms: 1000, start_ms: 1000, key: "xa-{n}"}
  R1: {role: resource_manager, bank: {name: ICBC, account: A, opening: 100, duration_ms: 50}}
  R2: {role: resource_manager, bank: {name: CCB, account: B, opening: 0, duration_ms: 50}}
faults: {kinds: [crash, crash-power, pause, partition, delay, loss, duplicate, reorder], max: 5}
"""


def xa_run(*replacements: tuple[str, str], check: bool = True) -> LabRun:
    """The world above at its beginning, with parts of its text replaced."""
    text = TEXT
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return LabRun(parse_scenario(text, "xa-test"), check=check)


def until_branch(run: LabRun, node: str, state: str, key: str = "xa-0") -> LabRun:
    """Run until the branch of ``key`` at ``node`` is in ``state``."""
    for _ in range(20_000):
        if any((e.node, e.key, e.state) == (node, key, state) for e in run.world.history.branches_changed):
            return run
        assert run.step(), f"the branch of {key} at {node} never was {state}"
    raise AssertionError(f"the branch of {key} at {node} was not {state} in time")


def until_global(run: LabRun, state: str, key: str = "xa-0") -> LabRun:
    """Run until the global transaction of ``key`` is in ``state``."""
    for _ in range(20_000):
        if any((e.key, e.state) == (key, state) for e in run.world.history.globals_changed):
            return run
        assert run.step(), f"{key} never was {state}"
    raise AssertionError(f"{key} was not {state} in time")


def until_label(run: LabRun, node: str, label: str) -> LabRun:
    """Run until a step of ``node`` has been made."""
    assert run.run_until(Condition(ConditionKind.LABEL, node, label), 20_000), f"{node} never {label}"
    return run


def do(run: LabRun, kind: str, target: str = "", **fields: object) -> None:
    """Apply a command."""
    run.apply(parse_command({"kind": kind, "target": target, **fields}))


def run_to_ms(run: LabRun, time_ms: int) -> LabRun:
    """Run to a time of the world."""
    run.run_to_time(time_ms * 1_000)
    return run


def balances(run: LabRun) -> tuple[int, int]:
    """What A and B have, as their databases say."""
    found = []
    for node, account in (("R1", "A"), ("R2", "B")):
        role = run.world.nodes[node]
        assert isinstance(role, ResourceManagerNode)
        database = role.node_bank.at_rest()
        assert database is not None
        (row,) = database.tables.query("SELECT balance FROM account WHERE name = ?", (account,))
        found.append(row["balance"])
        database.close()
    return found[0], found[1]


def manager_of(run: LabRun, node: str) -> ResourceManager:
    """The resource manager that runs on ``node``."""
    role = run.world.nodes[node]
    assert isinstance(role, ResourceManagerNode)
    assert role.resource_manager is not None
    return role.resource_manager


def coordinator_of(run: LabRun) -> XaTransactionCoordinator:
    """The coordinator that runs."""
    role = run.world.nodes["TC"]
    assert isinstance(role, CoordinatorNode)
    assert role.coordinator is not None
    return role.coordinator


def outcomes(run: LabRun) -> list[str]:
    """Return the outcome of each transfer that the manager received."""
    return [entry.outcome for entry in run.world.history.transfers_ended]


def ends(run: LabRun, key: str = "xa-0") -> dict[str, str]:
    """Node -> the last state of its branch of ``key``."""
    return {entry.node: entry.state for entry in run.world.history.branches_changed if entry.key == key}
