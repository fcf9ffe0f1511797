"""What the page gets of databases, Redis and services, and of the listeners that are kept from working twice."""

from __future__ import annotations

import pytest

from app.lab.foundation.bounds import WORK_ROWS_SHOWN
from app.lab.views.world_view import WorldView, view_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.lab_scenarios import apply, run_to_ms

#: One consumer that calls a service before anything of it is remembered, and fails the first time.
CALLS = """
title: {en: calls, zh: calls}
about: {en: calls, zh: calls}
seed: 1
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  P1: {role: producer, group: p, traffic: [{topic: T, count: 1, start_ms: 1000, key: "order-{n}"}]}
  C1:
    role: consumer
    group: shop
    topic: T
    start_ms: 100
    listener: {duration_ms: 30, result: later, fails_first: 1}
    work: {database: D1, records: R1, steps: [order, "call:S1:lock-stock", take]}
    settings: {idempotence_strategy: state-table, idempotence_key: keys}
  D1: {role: database, stock: 20}
  R1: {role: redis, replica_lag_ms: 500}
  S1: {role: service}
topics:
  T: {queues: 1}
"""


@pytest.fixture(scope="module")
def shop() -> Scenario:
    return load_scenario("order-and-stock")


def two_strategies(run: LabRun, strategy: str) -> LabRun:
    for node in ("C1", "C2"):
        apply(run, "setting", node, name="idempotence_strategy", value=strategy)
    return run


def test_what_is_not_committed_is_marked_and_the_one_that_waits_stands_behind_the_writer(shop):
    with LabRun(shop, check=False) as run:
        nodes = view_of(run_to_ms(run, 1_130))["nodes"]
    database = nodes["D1"]["database"]
    assert [(one["node"], one["state"]) for one in database["open"]] == [("C2", "writes"), ("C1", "waits")]
    assert database["open"][1]["statement"].startswith("INSERT INTO idempotence_record")
    (order,), (record,) = database["orders"], database["records"]
    assert (order["key"], order["is_open"], record["key"], record["is_open"]) == ("order-0", True, "order-0", True)
    assert (database["order_count"], database["record_count"], database["stock"]["left"]) == (0, 0, 20)


def test_a_committed_order_says_who_took_it_and_its_duplicate_is_judged(shop):
    with LabRun(shop, check=False) as run:
        nodes = view_of(run_to_ms(run, 1_300))["nodes"]
    database, guard = nodes["D1"]["database"], nodes["C1"]["idempotence"]
    (order,) = database["orders"]
    assert (order["times"], order["by"], order["is_open"]) == (1, "C2", False)
    assert (database["stock"]["left"], database["twice"], database["open"]) == (19, 0, [])
    (judged,) = guard["judged"]
    assert (judged["key"], judged["order"], judged["verdict"]) == ("again-0", "order-0", "swallowed")
    assert (guard["strategy"], guard["store"], guard["counters"]["swallowed"]) == ("message-table", "D1", 1)


def test_an_order_that_was_taken_twice_is_counted(shop):
    with LabRun(shop, check=False) as run:
        database = view_of(run_to_ms(two_strategies(run, "check-then-act"), 1_300))["nodes"]["D1"]["database"]
    assert (database["orders"][0]["times"], database["orders"][0]["by"], database["twice"]) == (2, "C2,C1", 1)
    assert database["stock"]["left"] == 18


def test_a_record_says_who_is_at_it_and_that_nobody_is_once_its_owner_died(shop):
    with LabRun(shop, check=False) as run:
        view = WorldView(run)
        two_strategies(run, "state-table")
        run_to_ms(run, 1_100)
        (record,) = view.build()["nodes"]["R1"]["redis"]["keys"]
        assert (record["key"], record["state"], record["by"]) == ("order-0", "consuming", "C2")
        assert 1_000_000 < record["taken_us"] < (record["expires_us"] or 0) - 599_000_000
        apply(run, "crash", "C2")
        nodes = view.build()["nodes"]
        assert nodes["R1"]["redis"]["keys"][0]["by"] is None
        assert nodes["C2"]["idempotence"]["under_way"] == []


def test_a_redis_says_which_keys_the_replica_lacks_and_which_a_failover_has_lost(shop):
    with LabRun(shop, check=False) as run:
        run_to_ms(two_strategies(run, "state-table"), 1_400)
        (record,) = view_of(run)["nodes"]["R1"]["redis"]["keys"]
        assert (record["replica_us"] or 0) > run.now_us
        apply(run, "crash", "R1")
        redis = view_of(run)["nodes"]["R1"]["redis"]
        assert (redis["keys"], redis["forgotten"]) == ([], ["order-0"])


def test_a_lock_is_distinguished_from_a_record(shop):
    with LabRun(shop, check=False) as run:
        (lock,) = view_of(run_to_ms(two_strategies(run, "lease-lock"), 1_100))["nodes"]["R1"]["redis"]["keys"]
    assert (lock["is_lock"], lock["scope"], lock["by"]) == (True, "shop locks", "C2")


def test_a_database_that_is_down_shows_what_lies_on_its_disk(shop):
    with LabRun(shop, check=False) as run:
        apply(run_to_ms(run, 1_130), "crash", "D1")
        database = view_of(run)["nodes"]["D1"]["database"]
        assert (database["orders"], database["records"], database["open"]) == ([], [], [])
        assert database["stock"] == {"item": "book", "opening": 20, "left": 20, "version": 0}


def test_a_service_shows_what_it_did_twice():
    with LabRun(parse_scenario(CALLS, "calls"), check=False) as run:
        service = view_of(run_to_ms(run, 1_200))["nodes"]["S1"]["service"]
        assert service["calls"] == [{"operation": "lock-stock", "key": "order-0", "times": 1}]
        run_to_ms(run, 20_000)
        view = view_of(run)["nodes"]
    assert (view["S1"]["service"]["calls"][0]["times"], view["S1"]["service"]["twice"]) == (2, 1)
    assert [one["verdict"] for one in view["C1"]["idempotence"]["judged"]] == ["failed", "first"]


def test_counters_outlive_the_process_and_lists_are_bounded(shop):
    with LabRun(shop, check=False) as run:
        run_to_ms(run, 3_300)
        before = view_of(run)["nodes"]["C1"]["idempotence"]["counters"]
        assert before["first"] + before["swallowed"] == 3
        apply(run, "crash", "C1")
        after = view_of(run)["nodes"]["C1"]["idempotence"]
        assert after["counters"] == before
        run_to_ms(run, 10_000)
        nodes = view_of(run)["nodes"]
    assert len(nodes["D1"]["database"]["orders"]) == 6 <= WORK_ROWS_SHOWN


def test_consumers_without_work_have_none():
    with LabRun(load_scenario("hello"), check=False) as run:
        assert view_of(run)["nodes"]["C1"]["idempotence"] is None


def test_a_view_that_follows_each_event_shows_what_one_from_scratch_shows(shop):
    with LabRun(shop, check=False) as run:
        view = WorldView(run)
        while run.now_us < 1_300_000 and run.step():
            built = view.build()
            if run.event_number % 40 == 0:
                fresh = view_of(run)["nodes"]
                assert {name: built["nodes"][name] for name in ("D1", "R1")} == {
                    name: fresh[name] for name in ("D1", "R1")
                }


def test_frames_to_stores_say_what_they_ask_for(shop):
    with LabRun(shop, check=False) as run:
        view = WorldView(run)
        run_to_ms(run, 1_130)
        frames = [frame for frame in view.build()["frames"] if frame["name"] == "SQL_EXECUTE"]
    assert [frame["action"] for frame in frames if frame["source"] == "C2"][:2] == ["INSERT", "INSERT"]


def test_relays_show_what_each_has_done_and_only_the_seller_has_a_stock():
    with LabRun(load_scenario("sub-messages"), check=False) as run:
        nodes = view_of(run_to_ms(run, 5_000))["nodes"]
    stock, orders, notes = (nodes[name]["database"] for name in ("D1", "D2", "D3"))
    assert (stock["orders"][0]["status"], orders["orders"][0]["status"], notes["orders"][0]["status"]) == (
        "taken",
        "PAID",
        "noted",
    )
    assert (orders["orders"][0]["by"], orders["orders"][0]["times"]) == ("C2,C4", 1)
    assert (stock["stock"]["left"], orders["stock"], notes["stock"]) == (16, None, None)


def test_a_consumer_that_has_suspended_itself_says_why():
    with LabRun(load_scenario("six-steps"), check=False) as run:
        apply(run, "setting", "C1", name="idempotence_stops_after", value=1)
        alarm = view_of(run_to_ms(run, 6_000))["nodes"]["C1"]["idempotence"]["alarm"]
    assert (alarm["key"], alarm["deliveries"]) == ("order-2", 1)


def test_a_database_with_a_binlog_shows_what_its_two_logs_say_and_what_recovery_has_decided():
    with LabRun(load_scenario("mysql-two-phase"), check=False) as run:
        dying = view_of(run_to_ms(run, 10_390))["nodes"]["D1"]["database"]["binlog"][-1]
        recovered = view_of(run_to_ms(run, 11_100))["nodes"]["D1"]["database"]["binlog"][-1]
    assert (dying["state"], dying["is_in_binlog"], dying["by_recovery"]) == ("prepared", True, False)
    assert (recovered["xid"], recovered["state"], recovered["by_recovery"]) == (dying["xid"], "committed", True)


def test_a_service_shows_the_reservations_that_stand_and_whether_it_keeps_their_states():
    with LabRun(load_scenario("tcc"), check=False) as run:
        apply(run, "setting", "S1", name="keeps_reservation_states", value=False)
        nodes = view_of(run_to_ms(run, 1_300))["nodes"]
    assert nodes["S2"]["service"]["calls"] == [{"operation": "confirm", "key": "order-0", "times": 1}]
    assert [nodes[name]["service"]["is_idempotent"] for name in ("S1", "S2")] == [False, True]
