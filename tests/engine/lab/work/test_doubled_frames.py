"""A database's session: a statement whose frame comes twice is carried out once."""

from __future__ import annotations

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_files import load_scenario


@pytest.mark.parametrize("strategy", ["message-table", "none"])
def test_a_doubled_statement_takes_one_book(strategy):
    """In a transaction, and alone."""
    with LabRun(load_scenario("business-key")) as run:
        run.apply(Command("setting", "C1", {"name": "idempotence_strategy", "value": strategy}))
        run.apply(parse_command({"kind": "link-duplicate", "target": "C1->D1", "ratio": 1.0}))
        run.run_to_time(2_500_000)
        assert [work.key for work in run.world.history.work_done] == ["order-0"]
        assert run.violations == []
