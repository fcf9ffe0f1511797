"""Settings on the page: each timer and part of the stage leads to a setting that there is."""

import json

import pytest

from app.lab.routes.setting_table import STAGE_SETTINGS, TIMER_SETTINGS, setting_table
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.settings import settings_of

#: Timers that no setting rules: a constant of RocketMQ, an attempt to connect, what a scenario says.
UNRULED = ("boot", "sample groups", "RemotingClient", "sends ", "worker-", "looks for idleness", "frame arrives")


@pytest.mark.parametrize("table", [TIMER_SETTINGS, STAGE_SETTINGS], ids=["timers", "stage"])
def test_only_settings_that_exist_are_named(table):
    for kind, names in table.items():
        assert set(names.values()) <= set(settings_of(kind.role))


@pytest.mark.parametrize("scenario", ["hello", "general"])
def test_every_timer_that_runs_leads_to_its_setting(scenario):
    unknown = set()
    with LabRun(load_scenario(scenario)) as run:
        for second in range(1, 30):
            run.run_to_time(second * 1_000_000)
            for event in run.world.lab.loop.schedule.next_timers(500):
                node, _, name = event.actor.name.partition("/")
                if event.is_cancelled or node not in run.world.nodes or not name:
                    continue
                known = (*TIMER_SETTINGS[type(run.world.nodes[node].spec)], *UNRULED)
                if not name.startswith(known) and not event.label.startswith(known):
                    unknown.add(f"{node}/{name}")
    assert unknown == set()


def test_the_page_gets_names_defaults_units_and_bounds():
    table = json.loads(json.dumps(setting_table()))
    assert table["settings"]["consumer"]["rebalance_interval_ms"] == {
        "java": "rebalanceInterval",
        "default": 20_000,
        "unit": "ms",
        "low": 1,
        "high": 31 * 86_400_000,
        "is_whole": True,
    }
    assert "low" not in table["settings"]["broker"]["message_delay_level"]
