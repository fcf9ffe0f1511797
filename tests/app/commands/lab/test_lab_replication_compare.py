"""``glassmq lab replication-compare``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.lab.lab_replication_compare import report_of, tables_of
from app.replication_plot import replication_svg
from engine.lab.sweep.replication_compare import ComparisonCell
from engine.lab.sweep.shortest_loss import SearchedPolicy

ROOT = Path(__file__).parents[4]
DOCUMENT = ROOT / "docs" / "replication" / "compared.md"
PICTURE = ROOT / "docs" / "images" / "replication-compare.svg"
TABLE = ROOT / "static" / "lab" / "comparisons" / "replication-compare.json"
REFRESH = (
    "refresh it: glassmq lab replication-compare --write docs/replication/compared.md "
    "--svg docs/images/replication-compare.svg --json static/lab/comparisons/replication-compare.json"
)


def replication_compare(*arguments):
    return CliRunner().invoke(main, ["lab", "replication-compare", *arguments], prog_name="glassmq")


def cell(policy="async-master", **figures):
    usual = {"acknowledged": 1_201, "in_doubt": 0, "lost": 1, "unavailable_ms": 223, "is_back": True, "duplicates": 2}
    others = {"on_one_machine": 0, "violations": 0, "events": 9, "link": "x"}
    return ComparisonCell(policy, "leader-dies", **{**usual, **others, **figures})


def test_a_row_tells_what_a_policy_made_of_the_fault():
    rows = tables_of([cell(), cell("raft-majority", is_back=False)], []).splitlines()
    assert "| ASYNC_MASTER | 1,201 | 1 | 0.22 s | 2 | 0 | 0 |" in rows
    assert "| Raft, majority | 1,201 | 1 | to the end | 2 | 0 | 0 |" in rows


def test_a_search_tells_what_it_needed_or_how_many_schedules_lost_nothing():
    found = SearchedPolicy("async-master", 145, faults=2, before="slow-follower", events=42, lost=1, link="x")
    *_, first, second = tables_of([], [found, SearchedPolicy("raft-majority", 387)]).splitlines()
    assert first.startswith("| ASYNC_MASTER | 1 after 2 faults: the link to one follower becomes slow")
    assert first.endswith(", then the leader dies | 42 | 145 |")
    assert second == "| Raft, majority | none | - | 387 |"


def test_the_picture_says_what_is_lost_and_doubled():
    picture = replication_svg([cell(), cell("raft-majority", is_back=False, lost=0, duplicates=0)])
    assert "0.22 s, 1 lost, 2 doubled<" in picture
    assert ">to the end<" in picture


def test_a_document_without_a_place_for_the_tables_is_refused_before_anything_runs(tmp_path):
    document = tmp_path / "other.md"
    document.write_text("# Other\n")
    result = replication_compare("--write", str(document))
    assert result.exit_code == 2
    assert "has no <!-- glassmq lab replication-compare -->" in result.output


def test_page_document_and_picture_show_the_same_figures():
    report = json.loads(TABLE.read_text(encoding="utf-8"))
    cells = [ComparisonCell(**one) for one in report["cells"]]
    assert replication_svg(cells) == PICTURE.read_text(encoding="utf-8"), REFRESH
    searches = [SearchedPolicy(**one) for one in report["searches"]]
    assert report_of(cells, searches) == report, REFRESH
    assert tables_of(cells, searches) in DOCUMENT.read_text(encoding="utf-8"), REFRESH


@pytest.mark.thorough
def test_the_figures_are_those_of_today(tmp_path):
    table = tmp_path / "table.json"
    result = replication_compare("--no-search", "--json", str(table))
    assert result.exit_code == 0, result.output
    # What the searches find is compared in tests/engine/lab/sweep/test_shortest_loss.py.
    today, known = json.loads(table.read_text()), json.loads(TABLE.read_text(encoding="utf-8"))
    assert {**today, "searches": known["searches"]} == known, REFRESH
