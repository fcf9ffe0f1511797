"""The scenarios of other ways to commit than transactional messages: what their texts say is what their runs do."""

from __future__ import annotations

from engine.lab.nodes.store_nodes import DatabaseNode, ServiceNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.work.binlog_server import BinlogSqlServer
from tests.support.lab.checked_run import do, finish, run_to


def decided_by_recovery(run: LabRun) -> list[tuple[str, bool]]:
    (role,) = run.world.roles(DatabaseNode)
    assert isinstance(role.server, BinlogSqlServer)
    return [(one.state, one.is_in_binlog) for one in role.server.logged if one.by_recovery]


def verdicts(run: LabRun, key: str) -> list[str]:
    return [one.verdict for one in run.world.history.deliveries_judged if one.key == key]


def test_recovery_goes_by_the_binlog_as_the_check_back_goes_by_the_producer_s_database():
    with LabRun(load_scenario("mysql-two-phase")) as run:
        run_to(run, 6_900)
        assert decided_by_recovery(run) == [("rolled-back", False)]
        run_to(run, 11_100)
        assert decided_by_recovery(run) == [("committed", True)]
        assert finish(run) == []
        checks = [(one.key, one.result) for one in run.world.history.transactions_ended if one.check]
        assert sorted(checks) == [("order-1", "rollback"), ("order-2", "commit")]
        assert verdicts(run, "order-1") == []
        assert (verdicts(run, "plain-1"), verdicts(run, "plain-2")) == (["failed", "first"], ["failed", "swallowed"])


def test_with_the_power_gone_the_binlog_is_empty_where_it_was_not_flushed_and_recovery_rolls_back():
    with LabRun(load_scenario("mysql-two-phase")) as run:
        run_to(run, 10_390)
        do(run, "crash-power", "D1")
        run_to(run, 11_100)
        assert decided_by_recovery(run) == [("rolled-back", False)]
        assert finish(run) == []
        assert verdicts(run, "plain-2")[-1] == "first"


def broken(run: LabRun) -> set[tuple[str, str]]:
    return {(violation.checker, violation.messages[0]) for violation in run.violations}


def test_reservations_end_alike_whatever_comes_twice_or_late_and_not_where_no_states_are_kept():
    with LabRun(load_scenario("tcc")) as run:
        assert finish(run) == []
        done = run.world.history.work_done
        assert [(one.node, one.key) for one in done if one.effect == "confirm"] == [
            (service, key) for key in ("order-0", "order-1") for service in ("S1", "S2")
        ]
        assert [one.key for one in done if (one.node, one.effect) == ("S2", "cancel")] == ["order-2", "order-3"]
    with LabRun(load_scenario("tcc")) as run:
        for service in ("S1", "S2"):
            do(run, "setting", service, name="keeps_reservation_states", value=False)
        finish(run)
        assert {("work-done-once", "order-1"), ("reservations-agree", "order-2")} <= broken(run)


def test_a_reservation_that_is_confirmed_at_one_service_only_is_found():
    with LabRun(load_scenario("tcc")) as run:
        run_to(run, 1_180)
        # As if S2 had forgotten: it answers "nothing" to the confirm, and the order is acknowledged.
        service = run.world.nodes["S2"]
        assert isinstance(service, ServiceNode)
        service.calls.clear()
        run_to(run, 60_000)
        texts = [violation.text["en"] for violation in run.violations if violation.checker == "reservations-agree"]
        assert "order-0 is confirmed at S1, but not at S2" in texts
