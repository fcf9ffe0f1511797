"""The nodes of a two-phase commit in a scenario's text: what is not allowed is refused, with line and reason."""

from __future__ import annotations

import pytest

from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.kinds.xa import ManagerSpec, ResourceManagerSpec
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.xa_scenarios import TEXT

TRANSFERS = 'transfers: {from: R1, to: R2, amount: 10, count: 2, every_ms: 1000, start_ms: 1000, key: "xa-{n}"}'
COORDINATOR = "  TC: {role: transaction_coordinator, disk: {fsync_ms: 5}, settings: {transaction_timeout_ms: 10000}}\n"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "from: R1, to: R2",
            "from: R1, to: B1",
            "nodes.TM: transfers.to 'B1' is not a resource manager; allowed: R1, R2",
        ),
        ("from: R1, to: R2", "from: R1, to: R1", "nodes.TM: transfers go from R1 to itself"),
        ("amount: 10", "amount: 0", "amount"),
        ('key: "xa-{n}"', "key: xa", "must contain {n}"),
        (COORDINATOR, "", "nodes.TM: needs exactly one node with role transaction_coordinator; there are 0"),
        (", bank: {name: ICBC, account: A, opening: 100, duration_ms: 50}", "", "nodes.R1.bank: is missing"),
        ("transaction_timeout_ms: 10000", "transaction_timeot_ms: 1", "did you mean transaction_timeout_ms"),
        ("name: CCB", "name: ICBC", "is that of R1, too"),
        ("role: transaction_manager", "role: transaction_boss", "allowed: broker, name_server"),
    ],
)
def test_what_is_not_allowed_is_refused_and_the_text_says_why(old, new, problem):
    assert old in TEXT
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(TEXT.replace(old, new), "wrong")
    assert problem in str(refused.value)


def test_a_cash_machine_needs_a_bank():
    text = TEXT.replace("  R1:", "  P1: {role: producer, group: g, cash_machine: {every_ms: 5}}\n  R1:")
    with pytest.raises(ScenarioError, match="cash_machine"):
        parse_scenario(text, "wrong")


def test_both_sides_of_the_comparison_move_the_same_money_at_the_same_times():
    scenario = load_scenario("xa-two-phase")
    transfers, producer = scenario.spec_of(ManagerSpec, "TM").transfers, scenario.spec_of(ProducerSpec, "P1")
    (traffic,) = producer.traffic
    assert (transfers.amount, transfers.count, transfers.every_ms, transfers.start_ms) == (
        producer.bank.amount,
        traffic.count,
        traffic.every_ms,
        traffic.start_ms,
    )
    assert scenario.spec_of(ResourceManagerSpec, "R1").cash_machine == producer.cash_machine
    branches = [scenario.spec_of(ResourceManagerSpec, name) for name in ("R1", "R2")]
    work = [node.bank.duration_ms for node in (*branches, producer)]
    assert work == [scenario.spec_of(ConsumerSpec, "C1").listener.duration_ms] * 3
