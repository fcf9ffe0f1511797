"""The study ``duplicates``."""

from __future__ import annotations

import json
import re
from pathlib import Path

from click.testing import CliRunner

from app.command_line import main
from app.commands.lab.studies.duplicates import findings_of
from engine.lab.sweep.duplicates import WAYS, DuplicateFigures

DOCS = Path(__file__).parents[5] / "docs"
DOCUMENT, PICTURE = DOCS / "semantics" / "duplicates.md", DOCS / "images" / "duplicates.svg"
FIGURES = DuplicateFigures(10, 2_400, 1_200, 12, 40, 4, 1_200, 11, 1, 2, 3)


def duplicates(*arguments):
    return CliRunner().invoke(main, ["lab", "duplicates", *arguments], prog_name="glassmq")


def picture_of(figures, title):
    draw = findings_of(figures, title).draw
    assert draw is not None
    return draw()


def test_a_row_tells_the_share_that_was_caught_and_how_sure_it_is():
    runs, _, head, line, row = findings_of({"state-table": FIGURES}, "").markdown().splitlines()
    assert runs == "Runs under each strategy: 10."
    assert head.count("|") == line.count("|") == row.count("|")
    assert row == (
        "| state-table | 2,400 | 1,200 | 12 | 99.00% | 98.26% to 99.43% "
        "| 40 | 4 | 90.00% | 76.95% to 96.04% | 11 of 1,200 | 1 | 2 | 3 |"
    ), "deliveries, duplicates, again, caught, interval, the last four for faults, orders again, lost, dead, open"
    assert "| - | - |" in findings_of({"none": DuplicateFigures(runs=1)}, "").markdown(), (
        "without a duplicate there is no share"
    )


def test_the_picture_has_a_bar_for_each_way_that_met_a_duplicate_and_its_figure():
    svg = picture_of({"a <way>": FIGURES, "never": DuplicateFigures(runs=1)}, "caught")
    assert "a &lt;way&gt;" in svg
    assert "99.00%" in svg
    assert "never" not in svg


def test_the_picture_of_the_document_is_that_of_its_table():
    rows = re.findall(r"\n\| ([a-z].*?) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", DOCUMENT.read_text("utf-8"))
    numbers = {name: [int(number.replace(",", "")) for number in row] for name, *row in rows}
    assert list(numbers) == list(WAYS)
    figures = {name: DuplicateFigures(1, *row) for name, row in numbers.items()}
    assert picture_of(figures, "order-and-stock: duplicates caught") == PICTURE.read_text("utf-8")


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


def test_a_scenario_without_work_is_refused():
    for processes in ("1", "2"):
        result = duplicates("hello", "--seeds", "1", "--processes", processes)
        assert result.exit_code == 1
        assert "hello has no listener with “work”" in result.output
