"""The study ``compare``: table, JSON and picture of the same runs."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from app.command_line import main
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.comparison import Change, run_with


def compare(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["lab", "compare", *arguments])


def test_the_table_the_json_and_the_picture_are_those_of_the_runs(tmp_path):
    json_path, svg_path = tmp_path / "figures.json", tmp_path / "figures.svg"
    done = compare(
        *("batch-trade-offs", "--set", "C1.pullBatchSize=8,32", "--json", str(json_path), "--svg", str(svg_path))
    )
    assert done.exit_code == 0, done.output
    runs = [run_with(load_scenario("batch-trade-offs"), Change("C1", "pullBatchSize", size)) for size in (8, 32)]
    report = json.loads(json_path.read_text())
    assert report == {
        "scenario": "batch-trade-offs",
        "seed": 1,
        "watched": "C1",
        "runs": [run.to_dict() for run in runs],
    }
    lines = [line.split() for line in done.output.splitlines()]
    for run in runs:
        assert [str(run.change.value), *[str(value) for value in run.figures._asdict().values()], "0"] in lines
    picture = ET.fromstring(svg_path.read_text())
    words = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "pulled again" in words
    assert f"{runs[1].figures._asdict()['pulled_again']:g}" in words
    assert "messages" not in words, "the same in all runs, so it says nothing"


def test_another_seed_and_another_node_can_be_watched():
    done = compare("batch-trade-offs", "--set", "P1.batch=16", "--watch", "C1", "--seed", "7")
    assert done.exit_code == 0, done.output
    assert "PULLED AGAIN" in done.output
    assert "figures of C1; all times are virtual" in done.output


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("C1.nothing=1", "Invalid value for --set C1.nothing: "),
        ("C1.pullBatchSize", "allowed: NODE.SETTING=VALUE,VALUE,..., such as C1."),
        ("pullBatchSize=1", "allowed: NODE.SETTING=VALUE,VALUE,..., such as C1."),
        ("C1.pullBatchSize=0", "pullBatchSize: '0' is not allowed; allowed: an integer from 1 to"),
        ("C1.nothing=1", "a consumer has no setting 'nothing'"),
        ("X9.threads=1", "there is no node 'X9'"),
    ],
)
def test_what_cannot_be_compared_is_one_line(assignment, words):
    done = compare("batch-trade-offs", "--set", assignment)
    assert done.exit_code == 2
    last = done.output.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert words in last


def test_a_node_without_figures_is_refused():
    done = compare("batch-trade-offs", "--set", "C1.threads=1", "--watch", "N9")
    assert done.exit_code == 2
    assert "Invalid value for --watch: there is no node 'N9'" in done.output
