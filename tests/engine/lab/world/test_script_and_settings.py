"""What a scenario's own script does to its world, and when a changed setting counts."""

from __future__ import annotations

import pytest

from engine.lab.scenario.errors import CommandRefused
from tests.support.lab.lab_scenarios import apply, run_to_ms


def test_a_setting_counts_from_the_next_start(started):
    run = started()
    apply(run, "setting", "B1", name="longPollingEnable", value=False)
    assert run.world.nodes["B1"].broker.config.long_polling_enable
    apply(run, "crash", "B1")
    apply(run, "restart", "B1")
    run_to_ms(run, 1_100)
    assert not run.world.nodes["B1"].broker.config.long_polling_enable
    for name, value in (("nothing", 1), ("longPollingEnable", 1), ("message_delay_level", "1x")):
        with pytest.raises(CommandRefused, match=r"setting|is not allowed|1x"):
            apply(run, "setting", "B1", name=name, value=value)


def test_a_script_does_what_it_says_when_it_says_and_survives_what_others_did_before(started):
    script = "script: [{at_ms: 2000, kind: crash, target: B1}, {at_ms: 2500, kind: restart, target: B1}]\n"
    run = started(extra=script, to_ms=2_200)
    assert run.world.nodes["B1"].status == "crashed"
    apply(run, "restart", "B1")
    run_to_ms(run, 3_000)
    assert run.world.nodes["B1"].status == "running"
    assert [applied.command.kind for applied in run.world.history.commands] == ["crash", "restart"]
