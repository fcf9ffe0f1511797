"""Every event and task that a page may show has a Chinese name."""

from __future__ import annotations

import pytest

from app.lab.routes.routes import label_table
from app.lab.routes.setting_table import TIMER_SETTINGS
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import COMMANDS
from engine.lab.scenario.scenario_files import load_scenario


@pytest.mark.parametrize("name", ["general", "three-locks", "bank-transaction", "xa-two-phase", "send-modes"])
def test_what_happens_in_a_world_has_a_name(name):
    table = label_table()["zh"]
    with LabRun(load_scenario(name), check=False) as run:
        run.run_to_time(15_000_000)
        labels = {entry.label for entry in run.world.lab.journal.entries}
    assert len(labels) > 15
    assert {label for label in labels if label not in table and label.split(" ")[0] not in COMMANDS} == set()


def test_every_timer_with_a_setting_has_a_name():
    table = label_table()["zh"]
    names = {name for names in TIMER_SETTINGS.values() for name in names}
    assert {name for name in names if name not in table and f"{name} " not in table} == set()


def test_all_are_chinese():
    assert {
        name for name, text in label_table()["zh"].items() if not any("\u4e00" <= sign <= "\u9fff" for sign in text)
    } == set()


def test_an_english_name_is_sent_only_where_it_differs_from_the_journals():
    english = label_table()["en"]
    assert english["goes on"] == "resumes"
    assert "calls the listener" not in english
