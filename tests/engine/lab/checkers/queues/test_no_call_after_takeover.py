from __future__ import annotations

import pytest

from engine.lab.checkers import Violation
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario

NAME = "no-call-after-takeover"


def violations_of(hold_ms: int, *, without: str | None) -> list[Violation]:
    """C1's worker stands still before its first listener call; then the queue goes to C2."""
    with LabRun(load_scenario("two-consumers")) as run:
        if without is not None:
            run.apply(parse_command({"kind": "lock-switch", "lock": without, "on": False}))
        entries = run.world.lab.journal.entries
        assert run.step()
        while "checks whether the queue was dropped under the consume lock" not in entries[-1].label:
            assert run.step()
        run.apply(parse_command({"kind": "hold", "target": entries[-1].actor, "ms": hold_ms}))
        run.run_to_time(10_000_000)
        return [violation for violation in run.violations if violation.checker == NAME]


def test_a_former_owner_that_acts_after_the_new_one_is_reported() -> None:
    (violation, *_) = violations_of(2_000, without="process-queue-lock")
    assert violation.anomaly == "duplicate"
    assert violation.element["node"] == "C1"
    assert violation.messages == ("order-0",)
    assert "C2 has taken it over" in violation.text["en"]
    assert "C2 已接手" in violation.text["zh"]


@pytest.mark.parametrize(("hold_ms", "without"), [(2_000, None), (5, "process-queue-lock")])
def test_a_queue_that_changes_hands_in_order_is_no_violation(hold_ms: int, without: str | None) -> None:
    assert violations_of(hold_ms, without=without) == []
