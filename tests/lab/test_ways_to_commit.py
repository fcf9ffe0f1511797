"""The scenarios of other ways to commit beside transactional messages: what their texts say is what their runs do."""

from __future__ import annotations

from engine.lab.nodes.store_roles import DatabaseRole
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.work.binlog_server import BinlogSqlServer
from tests.support.lab.checked_run import do, finish, run_to


def decided_by_recovery(run: LabRun) -> list[tuple[str, bool]]:
    (role,) = run.world.roles(DatabaseRole)
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
