"""``glassmq lab study``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.lab.lab_study import STUDIES

DOCS = Path(__file__).parents[4] / "docs"
DOCUMENTS = {
    "more-queues": "ordered-consumption.md",
    "asynchronous-steps": "sending.md",
    "inconsistency-window": "transactions.md",
    "broker-memory": "semantics/idempotence.md",
}


def study(*arguments):
    return CliRunner().invoke(main, ["lab", "study", *arguments], prog_name="glassmq")


def test_every_study_has_its_place_in_a_document():
    assert [*DOCUMENTS] == [*STUDIES]


@pytest.mark.thorough
@pytest.mark.parametrize("name", STUDIES)
def test_the_table_of_the_document_is_that_of_today(name, tmp_path):
    copy = tmp_path / "copy.md"
    text = (DOCS / DOCUMENTS[name]).read_text("utf-8")
    before, mark, rest = text.partition(f"<!-- glassmq lab study {name} -->\n")
    assert mark
    copy.write_text(f"{before}{mark}old\n<!-- end -->{rest.partition('<!-- end -->')[2]}", encoding="utf-8")
    result = study(name, "--write", str(copy))
    assert result.exit_code == 0, result.output
    assert copy.read_text("utf-8") == text


def test_a_document_without_a_place_for_the_table_is_refused_before_anything_runs(tmp_path):
    document = tmp_path / "other.md"
    document.write_text("# Other\n")
    result = study("more-queues", "--write", str(document))
    assert result.exit_code == 2
    assert "has no <!-- glassmq lab study more-queues -->" in result.output


def test_an_unknown_study_is_answered_with_all_names():
    output = study("everything").output
    assert all(name in output for name in STUDIES)
