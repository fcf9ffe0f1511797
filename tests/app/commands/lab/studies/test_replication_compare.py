"""The study ``replication-compare``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.lab.studies.replication_compare import findings_of
from engine.lab.sweep.replication_compare import ComparisonCell
from engine.lab.sweep.shortest_loss import SearchedPolicy

ROOT = Path(__file__).parents[5]
DOCUMENT = ROOT / "docs" / "replication" / "compared.md"
PICTURE = ROOT / "docs" / "images" / "replication-compare.svg"
TABLE = ROOT / "static" / "lab" / "comparisons" / "replication-compare.json"
REFRESH = (
    "refresh it: glassmq lab study replication-compare --write docs/replication/compared.md "
    "--svg docs/images/replication-compare.svg --json static/lab/comparisons/replication-compare.json"
)


def cell(policy="async-master", **figures):
    usual = {"acknowledged": 1_201, "in_doubt": 0, "lost": 1, "unavailable_ms": 223, "is_back": True, "duplicates": 2}
    others = {"on_one_machine": 0, "violations": 0, "events": 9, "link": "x"}
    return ComparisonCell(policy, "leader-dies", **{**usual, **others, **figures})


def picture_of(findings):
    assert findings.draw is not None
    return findings.draw()


def test_a_row_tells_what_a_policy_made_of_the_fault():
    rows = findings_of([cell(), cell("raft-majority", is_back=False)], []).markdown().splitlines()
    assert "| ASYNC_MASTER | 1,201 | 1 | 0.22 s | 2 | 0 | 0 |" in rows
    assert "| Raft, majority | 1,201 | 1 | to the end | 2 | 0 | 0 |" in rows


def test_a_search_tells_what_it_needed_or_how_many_schedules_lost_nothing():
    found = SearchedPolicy("async-master", 145, faults=2, before="slow-follower", events=42, lost=1, link="x")
    *_, first, second = findings_of([], [found, SearchedPolicy("raft-majority", 387)]).markdown().splitlines()
    assert first.startswith("| ASYNC_MASTER | 1 after 2 faults: the link to one follower becomes slow")
    assert first.endswith(", then the leader dies | 42 | 145 |")
    assert second == "| Raft, majority | none | - | 387 |"


def test_the_picture_says_what_is_lost_and_doubled():
    picture = picture_of(findings_of([cell(), cell("raft-majority", is_back=False, lost=0, duplicates=0)], []))
    assert "0.22 s, 1 lost, 2 doubled<" in picture
    assert ">to the end<" in picture


def test_page_document_and_picture_show_the_same_figures():
    report = json.loads(TABLE.read_text(encoding="utf-8"))
    found = findings_of(
        [ComparisonCell(**one) for one in report["cells"]], [SearchedPolicy(**one) for one in report["searches"]]
    )
    assert picture_of(found) == PICTURE.read_text(encoding="utf-8"), REFRESH
    assert found.json() == TABLE.read_text(encoding="utf-8"), REFRESH
    assert found.markdown() in DOCUMENT.read_text(encoding="utf-8"), REFRESH


@pytest.mark.thorough
def test_the_figures_are_those_of_today(tmp_path):
    table = tmp_path / "table.json"
    result = CliRunner().invoke(main, ["lab", "study", "replication-compare", "--no-search", "--json", str(table)])
    assert result.exit_code == 0, result.output
    # What the searches find is compared in tests/engine/lab/sweep/test_shortest_loss.py.
    today, known = json.loads(table.read_text()), json.loads(TABLE.read_text(encoding="utf-8"))
    assert {**today, "searches": known["searches"]} == known, REFRESH
