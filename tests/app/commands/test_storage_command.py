"""``glassmq storage``: what it writes, and what it says of wrong words."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from app.command_line import main


def run(*words: str):
    return CliRunner().invoke(main, ["storage", *words])


def test_measure_prints_tables_and_writes_what_is_asked_for(tmp_path):
    figures, rates = tmp_path / "figures.json", tmp_path / "rates.svg"
    words = ("--folder", str(tmp_path), "--size-mb", "1", "--rounds", "1")
    result = run("measure", *words, "--json", str(figures), "--svg", str(rates))
    assert result.exit_code == 0, result.output
    assert "| `sendfile` | Kafka |" in result.output
    assert json.loads(figures.read_text())["file_bytes"] == 1 << 20
    assert rates.read_text().startswith("<svg")
    assert {path.name for path in tmp_path.iterdir()} == {"figures.json", "rates.svg"}


def test_grow_puts_its_table_into_a_document(tmp_path):
    document, pattern = tmp_path / "growth.md", tmp_path / "pattern.svg"
    document.write_text("before\n<!-- glassmq storage grow -->\nold\n<!-- end -->\nbehind\n")
    words = ("--topics", "1,3", "--messages", "1000", "--topic-messages", "300", "--folder", str(tmp_path))
    result = run("grow", *words, "--write", str(document), "--pattern", str(pattern))
    assert result.exit_code == 0, result.output
    text = document.read_text()
    assert text.startswith("before\n")
    assert text.endswith("<!-- end -->\nbehind\n")
    assert "| kafka | 10 | 1,000 |" in text
    assert "old" not in text
    assert pattern.read_text().startswith("<svg")


@pytest.mark.parametrize("topics", ["", "0", "1,,2", "x", "10001", "-3"])
def test_wrong_numbers_of_topics_are_refused_with_what_is_allowed(topics):
    result = run("grow", "--topics", topics)
    assert result.exit_code == 2
    assert "numbers from 1 to 10,000, with commas between" in result.output


def test_a_document_without_a_place_is_refused_before_anything_is_measured(tmp_path):
    document = tmp_path / "growth.md"
    document.write_text("nothing\n")
    result = run("grow", "--write", str(document))
    assert result.exit_code == 2
    assert "<!-- glassmq storage grow -->" in result.output


def test_topics_without_messages_are_refused():
    result = run("grow", "--topics", "100", "--topic-messages", "50")
    assert result.exit_code == 2
    assert "each topic needs one at least" in result.output
