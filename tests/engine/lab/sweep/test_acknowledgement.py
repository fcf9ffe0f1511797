"""What an acknowledgement is worth under each policy, by runs in which the broker is struck."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.acknowledgement import Acknowledged, FailureKind, figures_of

SCENARIO = load_scenario("broker-crash-async-flush")
#: Every Nth acknowledgement.
EVERY = 8
RUNS = 40 // EVERY


def with_interval(interval_ms: int) -> Scenario:
    settings = {"flush_commit_log_thorough_interval_ms": interval_ms}
    nodes = tuple(replace(spec, settings=settings) if spec.name == "B1" else spec for spec in SCENARIO.nodes)
    return replace(SCENARIO, nodes=nodes)


def test_in_memory_a_killed_process_loses_nothing_and_a_power_cut_what_was_not_flushed() -> None:
    figures = figures_of(SCENARIO, Acknowledged.IN_MEMORY, every=EVERY)
    assert figures.damages[FailureKind.KILL] == (RUNS, 0, 0, 0)
    cut, torn = figures.damages[FailureKind.POWER_CUT], figures.damages[FailureKind.TORN_WRITE]
    assert cut.runs_with_loss == RUNS
    assert cut.lost_max > 4
    assert 2_000_000 < cut.back_us_max <= 5_000_000, "the interval of the flush"
    assert torn.lost_max <= cut.lost_max, "some sectors were written"


def test_on_disk_no_blow_loses_anything_and_each_send_waits_for_the_disk() -> None:
    kinds = (Acknowledged.IN_MEMORY, Acknowledged.ON_DISK)
    memory, disk = (figures_of(SCENARIO, acknowledged, every=EVERY) for acknowledged in kinds)
    assert all(damage == (RUNS, 0, 0, 0) for failure, damage in disk.damages.items() if failure is not FailureKind.GONE)
    assert disk.damages[FailureKind.GONE].runs_with_loss == RUNS, "the disk was in it"
    # The disk of the scenario takes 2 ms for a flush.
    assert 1_500 < disk.send_us - memory.send_us < 3_000


def test_the_less_often_a_broker_flushes_the_more_a_power_cut_takes() -> None:
    often, seldom = (
        figures_of(with_interval(interval_ms), Acknowledged.IN_MEMORY, every=EVERY).damages[FailureKind.POWER_CUT]
        for interval_ms in (1_000, 10_000)
    )
    assert often.lost_max < seldom.lost_max
    assert often.back_us_max <= 1_000_000 < seldom.back_us_max <= 10_000_000


@pytest.mark.thorough
def test_what_slaves_have_is_there_whatever_becomes_of_the_master() -> None:
    memory = figures_of(SCENARIO, Acknowledged.IN_MEMORY, every=EVERY)
    for acknowledged in (Acknowledged.BY_A_REPLICA, Acknowledged.BY_A_MAJORITY):
        figures = figures_of(SCENARIO, acknowledged, every=EVERY)
        # Not what was sent before the slaves were connected: that was answered with SLAVE_NOT_AVAILABLE.
        assert all(damage == (damage.runs, 0, 0, 0) and damage.runs >= 2 for damage in figures.damages.values())
        # There and back again.
        assert 4_000 <= figures.send_us - memory.send_us <= 7_000
