"""Random fates of the bank: whatever dies, is lost, comes twice or late, the money is conserved.

``glassmq lab run bank-transaction --seeds 1000 --faults random`` does the same with the preset as it stands; here the
story is shorter, so that the suite stays quick.
"""

from __future__ import annotations

import dataclasses

import pytest

from engine.lab.nodes.money_flow import MoneyFlow
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.scenario import FaultKind, FaultModel, Scenario
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.fault_plan import draw_faults, lay_out
from engine.lab.sweep.sweep import run_seed
from engine.protocol.names import TRANSACTION_HALF_TOPIC
from tests.support.lab.bank_scenarios import bank_scenario, broken

pytestmark = pytest.mark.seeds(quick=8, full=75)
#: Without a listener that hangs: its message is never done with.
KINDS = tuple(kind for kind in FaultKind if kind is not FaultKind.LISTENER)


def short(flush: str = "async", kinds: tuple[FaultKind, ...] = KINDS) -> Scenario:
    """Five transfers in five seconds, faults until 13.5 s, then half a minute to come back to order."""
    scenario = load_scenario("bank-transaction")
    nodes: list[NodeSpec] = []
    for node in scenario.nodes:
        if isinstance(node, ProducerSpec):
            traffic = tuple(dataclasses.replace(part, count=5, every_ms=1_000) for part in node.traffic)
            nodes.append(dataclasses.replace(node, traffic=traffic))
        else:
            nodes.append(dataclasses.replace(node, flush=flush) if isinstance(node, BrokerSpec) else node)
    return dataclasses.replace(
        scenario, nodes=tuple(nodes), script=(), duration_ms=45_000, fault_model=FaultModel(kinds, 5)
    )


def test_random_faults_break_no_invariant_of_the_bank(seeds):
    scenario = short(kinds=load_scenario("bank-transaction").fault_model.kinds)
    bad = {
        seed: [violation["text"]["en"] for violation in result.violations]
        for seed in range(seeds)
        if (result := run_seed(scenario, seed)).violations
    }
    assert bad == {}


def test_with_synchronous_flush_not_even_power_cuts_do():
    scenario = short("sync", (FaultKind.CRASH_POWER,))
    bad = {seed for seed in range(12) if run_seed(scenario, seed).violations}
    assert bad == set()


def test_when_all_is_calm_again_every_half_message_is_decided_and_nothing_is_on_the_way():
    scenario = short(kinds=tuple(kind for kind in KINDS if kind is not FaultKind.CRASH_POWER))
    debits = 0
    for seed in range(25):
        with LabRun(scenario, seed) as run:
            for planned in lay_out(scenario, draw_faults(scenario, seed)):
                run.run_to_time(planned.time_ms * 1_000)
                try:
                    run.apply(parse_command(planned.command))
                except CommandRefused:
                    continue
            run.run_to_time(run.world.end_us)
            flow = MoneyFlow()
            for entry in run.world.history.bank_entries:
                flow.take(entry)
            assert flow.debited == flow.credited, seed
            assert run.violations == [], seed
            (role,) = run.world.brokers()
            assert role.broker is not None
            halves = role.broker.store.max_offset(TRANSACTION_HALF_TOPIC, 0)
            assert role.broker.transactional_message_service.half_offset == halves, seed
            debits += flow.debited
    assert debits > 25 * 20_000, "most transfers were made"


@pytest.mark.parametrize("way", ["send-then-debit", "debit-then-send"])
def test_the_naive_ways_do_not_survive_random_faults(way):
    kinds = (FaultKind.CRASH, FaultKind.DISK, FaultKind.LOSS)
    scenario = dataclasses.replace(
        bank_scenario(way, paying="duration_ms: 5"), fault_model=FaultModel(kinds, 3), duration_ms=30_000
    )
    found: dict[str, None] = {}
    for seed in range(60):
        found.update(dict.fromkeys(violation["checker"] for violation in run_seed(scenario, seed).violations))
        if "money-is-conserved" in found:
            return
    raise AssertionError(f"money was conserved in 60 runs; found: {list(found)}")


@pytest.mark.parametrize("name", ["bank-transaction", "bank-naive"])
def test_the_presets_themselves_go_well(name):
    with LabRun(load_scenario(name)) as run:
        run.run_to_time(run.world.end_us)
        assert broken(run) == {}
        assert run.checkers is not None
        names = {checker.name for checker in run.checkers.checkers}
        assert {"money-is-conserved", "no-money-from-nowhere"} <= names
