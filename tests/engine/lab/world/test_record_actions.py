"""A record of idempotence is freed by hand: in a database as one more writer, in a Redis at once."""

from __future__ import annotations

import pytest

from app.lab.views.world_view import view_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.world.administrator_actions import RecordCommandRefused
from tests.support.lab.lab_scenarios import apply, run_to_ms


@pytest.fixture
def run():
    with LabRun(load_scenario("order-and-stock"), check=False) as shop:
        yield shop


def test_a_record_of_a_database_is_deleted_for_good(run):
    run_to_ms(run, 1_300)
    apply(run, "free-record", "D1", scope="shop", key="order-0")
    run_to_ms(run, 1_310)
    assert view_of(run)["nodes"]["D1"]["database"]["record_count"] == 0
    apply(run, "crash", "D1")
    assert view_of(run)["nodes"]["D1"]["database"]["records"] == []


def test_it_waits_until_it_may_write_and_is_seen_waiting(run):
    run_to_ms(run, 2_130)
    apply(run, "free-record", "D1", scope="shop", key="order-0")
    run_to_ms(run, 2_131)
    by_hand = [one for one in view_of(run)["nodes"]["D1"]["database"]["open"] if one["node"] is None]
    assert [(one["state"], one["statement"][:6]) for one in by_hand] == [("waits", "DELETE")]
    run_to_ms(run, 2_400)
    assert [one["key"] for one in view_of(run)["nodes"]["D1"]["database"]["records"]] == ["order-1"]


def test_a_record_of_a_redis_is_gone_and_its_duplicate_works_once_more(run):
    for node in ("C1", "C2"):
        apply(run, "setting", node, name="idempotence_strategy", value="state-table")
    run_to_ms(run, 1_300)
    apply(run, "free-record", "R1", scope="shop", key="order-0")
    run_to_ms(run, 30_000)
    assert [one.by for one in run.world.history.work_done if one.key == "order-0"] == ["C2", "C1"]


@pytest.mark.parametrize(("node", "key"), [("D1", "order-9"), ("R1", "order-0"), ("C1", "order-0")])
def test_what_is_not_there_is_refused_by_name(run, node, key):
    run_to_ms(run, 1_300)
    with pytest.raises(
        RecordCommandRefused, match=f"{node} is not running, or has no idempotence record for '{key}' in scope 'shop'"
    ):
        apply(run, "free-record", node, scope="shop", key=key)


def test_a_database_that_does_not_run_is_refused_too(run):
    run_to_ms(run, 1_300)
    apply(run, "crash", "D1")
    with pytest.raises(RecordCommandRefused, match="is not running, or"):
        apply(run, "free-record", "D1", scope="shop", key="order-0")
