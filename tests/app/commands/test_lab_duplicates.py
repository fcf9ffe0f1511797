"""``glassmq lab duplicates``."""

from __future__ import annotations

import json

from click.testing import CliRunner

from app.command_line import main
from app.commands.lab.lab_duplicates import table_of
from app.duplicates_plot import duplicates_svg
from engine.lab.sweep.duplicates import WAYS, DuplicateFigures

FIGURES = DuplicateFigures(10, 2_400, 1_200, 12, 40, 4, 1_200, 11, 1, 2, 3)


def duplicates(*arguments):
    return CliRunner().invoke(main, ["lab", "duplicates", *arguments], prog_name="glassmq")


def test_a_row_tells_the_share_that_was_caught_and_how_sure_it_is():
    runs, _, head, line, row = table_of({"state-table": FIGURES}).splitlines()
    assert runs == "Runs under each strategy: 10."
    assert head.count("|") == line.count("|") == row.count("|")
    assert row == (
        "| state-table | 2,400 | 1,200 | 12 | 99.00% | 98.26% to 99.43% "
        "| 40 | 4 | 90.00% | 76.95% to 96.04% | 11 of 1,200 | 1 | 2 | 3 |"
    ), "deliveries, duplicates, again, caught, interval, the last four for faults, orders again, lost, dead, open"
    assert "| - | - |" in table_of({"none": DuplicateFigures(runs=1)}), "without a duplicate there is no share"


def test_the_picture_has_a_bar_for_each_way_that_met_a_duplicate_and_its_figure():
    svg = duplicates_svg({"a <way>": FIGURES, "never": DuplicateFigures(runs=1)}, "caught")
    assert "a &lt;way&gt;" in svg
    assert "99.00%" in svg
    assert "never" not in svg


def test_json_has_every_way_and_the_document_and_the_picture_are_written(tmp_path):
    document, picture = tmp_path / "figures.md", tmp_path / "figures.svg"
    document.write_text("# Figures\n<!-- glassmq lab duplicates -->\nold\n<!-- end -->\nLast.\n")
    options = ["business-key", "--seeds", "1", "--processes", "1", "--json"]
    result = duplicates(*options, "--write", str(document), "--svg", str(picture))
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert list(figures) == list(WAYS)
    assert figures["message-table"]["again"] == 1, "its key is the unique id at first"
    assert figures["none"]["duplicates"] == 2
    assert figures["none"]["caught_by_faults"] is None
    text = document.read_text()
    assert text.startswith("# Figures\n<!-- glassmq lab duplicates -->\nRuns under each strategy: 1.\n\n| strategy |")
    assert text.endswith("|\n<!-- end -->\nLast.\n")
    assert "old" not in text
    assert picture.read_text().startswith("<svg")


def test_a_scenario_without_work_and_a_document_without_a_place_are_refused(tmp_path):
    for processes in ("1", "2"):
        result = duplicates("hello", "--seeds", "1", "--processes", processes)
        assert result.exit_code == 1
        assert "hello has no listener with “work”" in result.output
    document = tmp_path / "empty.md"
    document.write_text("# Nothing\n")
    result = duplicates("--write", str(document))
    assert result.exit_code == 2
    assert "has no <!-- glassmq lab duplicates -->" in result.output
