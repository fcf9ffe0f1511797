"""How many duplicates each strategy catches: counted in runs whose outcome is known, and under random faults."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.scenario import FaultModel
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep import duplicates
from engine.lab.sweep.duplicates import (
    WAYS,
    DuplicateFigures,
    NoWork,
    WayTask,
    run_chunk,
    run_portion,
    with_way,
)
from engine.lab.sweep.fault_plan import PlannedCommand, PlannedFault
from engine.lab.sweep.seed_chunk import SeedRange

USUAL = load_scenario("order-and-stock")
CALM = USUAL.text.replace("max: 3}", "max: 0}")


def calm(way: str) -> DuplicateFigures:
    """Six orders, each sent twice 50 ms apart, without any fault."""
    return run_chunk(WayTask("calm", CALM, way), SeedRange(1, 1))


@pytest.mark.parametrize("way", ["message-table", "state-table", "state-condition", "version", "lease-lock", "setnx"])
def test_without_faults_those_that_are_made_for_it_catch_every_duplicate(way):
    figures = calm(way)
    assert (figures.orders, figures.deliveries, figures.duplicates) == (6, 12, 6)
    assert (figures.again, figures.orders_again, figures.caught.ratio, figures.lost) == (0, 0, 1.0, 0)


@pytest.mark.parametrize("way", ["none", "check-then-act", "replace-into", "memory-set"])
def test_without_faults_the_tempting_ones_catch_none_that_comes_while_the_first_is_at_work(way):
    figures = calm(way)
    assert (figures.duplicates, figures.again, figures.orders_again, figures.caught.ratio) == (6, 6, 6, 0.0)
    assert (figures.by_faults, figures.again_by_faults) == (0, 0), "the story presses the button twice, no fault"


def test_a_delivery_that_bounced_is_counted_when_it_comes_again_and_only_then():
    assert calm("state-table").deliveries == calm("none").deliveries


def test_work_that_fails_half_way_is_done_again_by_a_state_table_and_rolled_back_with_a_message_table():
    # Two of the six orders, order-0 and order-3, fail once, after they have taken from the stock.
    figures = calm("state-table, work fails half-way")
    assert (figures.again, figures.by_faults) == (2, 0)
    assert calm("message-table, work fails half-way").again == 0


def test_every_way_meets_the_same_faults_and_the_message_table_survives_them_all():
    chunk = SeedRange(1, 4)
    first, again = (run_portion((WayTask(USUAL.name, USUAL.text, "message-table"), chunk)) for _ in range(2))
    assert asdict(first) == asdict(again)
    assert first.runs == 4
    assert (first.again, first.lost, first.dead_letters) == (0, 0, 0)


@pytest.mark.parametrize("way", ["memory-set", "state-table, work fails half-way"])
def test_without_faults_nothing_is_made_by_faults_though_deliveries_are_put_off_and_work_fails(way):
    figures = run_chunk(WayTask("calm", CALM, way), SeedRange(1, 3))
    assert figures.again > 0
    assert (figures.by_faults, figures.again_by_faults) == (0, 0)


@pytest.mark.parametrize(
    ("way", "again", "again_by_faults"), [("message-table", 0, 0), ("check-then-act", 6, 0), ("none", 7, 1)]
)
def test_what_a_fault_has_delivered_again_is_distinguished_from_the_button(way, again, again_by_faults, monkeypatch):
    """C1 dies after its work for again-0, before its offset is stored: C2 gets the message, too."""
    begin = PlannedCommand(1_300, {"kind": "crash", "target": "C1"})
    end = PlannedCommand(17_000, {"kind": "restart", "target": "C1"})
    monkeypatch.setattr(duplicates, "draw_faults", lambda scenario, seed: [PlannedFault(begin, end)])
    figures = calm(way)
    assert (figures.duplicates, figures.again) == (7, again)
    assert (figures.by_faults, figures.again_by_faults) == (1, again_by_faults)


def test_an_order_that_was_acknowledged_and_done_by_half_is_lost():
    """C1 and C2 hand over, and die at 16 s: order-0 was taken from the stock at 11 s, and would be written at 21 s."""
    script = "".join(f"\n  - {{at_ms: 16000, kind: crash, target: {name}}}" for name in ("C1", "C2"))
    text = CALM.replace("seed: 1\n", f"seed: 1\nscript:{script}\n")
    text = text.replace("listener: {duration_ms: 100}", "listener: {hand_over: true, hand_over_ms: 20000}")
    text = text.replace("records: R1}", "records: R1, steps: [take, order]}")
    figures = run_chunk(WayTask("half", text, "none"), SeedRange(1, 1))
    assert (figures.again, figures.lost) == (1, 6), "both have taken it; and of all others nothing was done"


def test_figures_add_up_and_an_interval_is_wide_when_little_was_seen():
    figures = DuplicateFigures(runs=1, duplicates=4, again=1)
    figures.add(DuplicateFigures(runs=2, duplicates=4, again=1, lost=1, by_faults=2, again_by_faults=1))
    assert (figures.runs, figures.caught.ratio, figures.caught_by_faults.ratio, figures.lost) == (3, 0.75, 0.5, 1)
    low, high = figures.caught.interval
    assert low < 0.5
    assert high > 0.9
    assert DuplicateFigures().caught.ratio is None


def test_a_way_changes_the_consumers_that_work_and_nothing_else():
    changed = with_way(USUAL, WAYS["state-table, records in the database"])
    for before, after in zip(USUAL.nodes, changed.nodes, strict=True):
        if not isinstance(before, ConsumerSpec) or before.work is None:
            assert after == before
        else:
            assert isinstance(after, ConsumerSpec)
            assert after.work == replace(before.work, records="D1")
            assert after.settings == {**before.settings, "idempotence_strategy": "state-table"}


def test_a_scenario_without_work_is_refused_by_name():
    with pytest.raises(NoWork, match="hello has no listener with “work”"):
        with_way(replace(load_scenario("hello"), fault_model=FaultModel()), WAYS["none"])
