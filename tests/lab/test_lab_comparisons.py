"""The tables and pictures of comparisons that come along are those that the engine of today makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.commands.lab.studies.compare import comparison_svg
from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.comparison import Change, run_with

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "static" / "lab" / "comparisons"
#: Table of the page -> picture in the documents.
PICTURES = {
    "batch-trade-offs.C1.pullBatchSize.json": "batch-pull-size.svg",
    "batch-trade-offs.C1.consumeMessageBatchMaxSize.json": "batch-call-size.svg",
}


def test_the_page_has_these_tables_and_knows_them():
    # That of replication has a panel of its own, see tests/app/commands/lab/studies/test_replication_compare.py.
    others = ("replication-compare.json",)
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted((*PICTURES, *others))
    panel = (ROOT / "static" / "parts" / "analysis" / "compare.js").read_text(encoding="utf-8")
    for name in PICTURES:
        scenario, node, setting, _ = name.split(".")
        assert f'"{scenario}"' in panel
        assert f'"{node}.{setting}"' in panel


@pytest.mark.parametrize("name", PICTURES)
def test_they_say_what_the_engine_does_now(name):
    table = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    scenario_name, node, setting, _ = name.split(".")
    values = [row["value"] for row in table["runs"]]
    runs = [run_with(load_scenario(scenario_name), Change(node, setting, value)) for value in values]
    assignment = f"{node}.{setting}={','.join(str(value) for value in values)}"
    refresh = f"glassmq lab study compare {scenario_name} --set {assignment} --json static/lab/comparisons/{name}"
    picture = ROOT / "docs" / "images" / PICTURES[name]
    refresh += f" --svg docs/images/{picture.name}"
    assert [run.to_dict() for run in runs] == table["runs"], f"refresh it: {refresh}"
    assert comparison_svg(runs, f"{scenario_name}: {node}.{setting}") == picture.read_text(encoding="utf-8"), refresh


def test_a_row_leads_to_its_run_as_the_node_starts():
    table = json.loads((FOLDER / "batch-trade-offs.C1.pullBatchSize.json").read_text(encoding="utf-8"))
    row = table["runs"][1]
    with LabRun.replay(parse_link(row["link"])) as run:
        assert run.now_us == 3_000_000
        assert run.world.nodes["C1"].settings["pull_batch_size"] == row["value"] == 8
        run.run_to_time(run.world.end_us)
        assert run.event_number == row["events"]
