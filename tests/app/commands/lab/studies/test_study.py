"""``glassmq lab study``: what all studies have in common, and the tables of the documents."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.lab.lab_study import old_names
from app.commands.lab.lab_study import study as studies
from app.commands.lab.studies.study import Findings, Study, StudyTable

DOCS = Path(__file__).parents[5] / "docs"
#: Studies that a test can run, and where their tables are.
DOCUMENTS = {
    "acknowledgement": "semantics/acknowledgement.md",
    "more-queues": "ordered-consumption.md",
    "asynchronous-steps": "sending.md",
    "inconsistency-window": "transactions.md",
    "broker-memory": "semantics/idempotence.md",
}
#: Names that studies had as commands of their own, and the arguments that they need.
OLD_NAMES = {
    "acknowledgement": "",
    "compare": "batch-trade-offs --set C1.threads=1",
    "crash-points": "xa-two-phase",
    "duplicates": "",
    "replication-compare": "",
}
#: What else each of them accepted then, and what it was without it.
OLD_OPTIONS: dict[str, dict[str, object]] = {
    "acknowledgement": {"--write": None},
    "compare": {"--watch": None, "--seed": None, "--json": None, "--svg": None},
    "crash-points": {"--restart-after-ms": 3_000, "--json": None, "--address": "http://127.0.0.1:8000"},
    "duplicates": {
        "scenario_name": "order-and-stock",
        "--seeds": 100,
        "--processes": None,
        "--json": None,
        "--write": None,
        "--svg": None,
    },
    "replication-compare": {"--write": None, "--json": None, "--svg": None, "--search": True, "--no-search": True},
}


def lab(*arguments):
    return CliRunner().invoke(main, ["lab", *arguments], prog_name="glassmq")


@click.command("two-tables", cls=Study, is_drawn=True)
def two_tables() -> Findings:
    """Print two tables."""
    tables = [StudyTable([{"name": "a", "n": 1_000}], "First."), StudyTable([{"name": "中"}])]
    return Findings(tables, draw=lambda: "<svg/>")


@pytest.mark.thorough
@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_table_of_the_document_is_that_of_today(name, tmp_path):
    copy = tmp_path / "copy.md"
    text = (DOCS / DOCUMENTS[name]).read_text("utf-8")
    before, mark, rest = text.partition(f"<!-- glassmq lab study {name} -->\n")
    assert mark
    copy.write_text(f"{before}{mark}old\n<!-- end -->{rest.partition('<!-- end -->')[2]}", encoding="utf-8")
    result = lab("study", name, "--write", str(copy))
    assert result.exit_code == 0, result.output
    assert copy.read_text("utf-8") == text


def test_tables_are_printed_as_markdown_with_an_empty_line_between_two():
    first, second = "First.\n\n| name | n |\n|---|---|\n| a | 1,000 |\n", "| name |\n|---|\n| 中 |\n"
    assert CliRunner().invoke(two_tables).output == f"{first}\n{second}"


def test_json_has_the_cells_of_all_tables_in_a_file_or_printed_alone(tmp_path):
    cells = [{"name": "a", "n": 1_000}, {"name": "中"}]
    path = tmp_path / "figures.json"
    assert CliRunner().invoke(two_tables, ["--json", str(path)]).output.startswith("First.")
    assert json.loads(path.read_text("utf-8")) == cells
    assert json.loads(CliRunner().invoke(two_tables, ["--json", "-"]).stdout) == cells


def test_a_picture_is_drawn_only_by_a_study_that_has_one(tmp_path):
    path = tmp_path / "picture.svg"
    assert CliRunner().invoke(two_tables, ["--svg", str(path)]).exit_code == 0
    assert path.read_text() == "<svg/>"
    assert "No such option" in lab("study", "broker-memory", "--svg", str(path)).output


@pytest.mark.parametrize("mark", ["lab study two-tables", "lab two-tables"])
def test_a_document_names_a_study_as_it_is_called_now_or_was_before(mark, tmp_path):
    document = tmp_path / "document.md"
    document.write_text(f"# Figures\n<!-- glassmq {mark} -->\nold\n<!-- end -->\nLast.\n")
    result = CliRunner().invoke(two_tables, ["--write", str(document)])
    assert (result.exit_code, result.output) == (0, "")
    assert document.read_text("utf-8").startswith(f"# Figures\n<!-- glassmq {mark} -->\nFirst.\n\n| name | n |\n")
    assert document.read_text("utf-8").endswith("| 中 |\n<!-- end -->\nLast.\n")


@pytest.mark.parametrize(("name", "arguments"), [("study more-queues", ""), *OLD_NAMES.items()])
def test_a_document_without_a_place_for_the_tables_is_refused_before_anything_runs(name, arguments, tmp_path):
    document = tmp_path / "other.md"
    document.write_text("# Other\n")
    result = lab(*name.split(), *arguments.split(), "--write", str(document))
    assert result.exit_code == 2
    assert f"has no <!-- glassmq lab {name} -->" in result.output
    assert "allowed: a document with both comments" in " ".join(result.output.split())
    assert result.output.startswith(f"Usage: glassmq lab {name} ")
    assert document.read_text() == "# Other\n"


def test_a_folder_that_does_not_exist_is_refused_before_anything_runs(tmp_path):
    result = lab("study", "more-queues", "--json", str(tmp_path / "nowhere" / "figures.json"))
    assert result.exit_code == 2
    assert "there is no folder" in result.output


def test_options_may_be_written_before_the_name_of_the_study(tmp_path):
    result = lab("study", "--write", str(tmp_path / "nothing.md"), "more-queues")
    assert "nothing.md' does not exist" in result.output


def test_an_unknown_study_is_answered_with_all_names():
    output = lab("study", "everything").output
    assert all(name in output for name in studies.commands)


def test_old_names_have_the_same_help_and_are_left_out_of_lists():
    listed = lab("--help").output.partition("Commands:")[2].split()
    for name in OLD_NAMES:
        assert name not in listed
        old, now = (lab(*called, "--help").output for called in ([name], ["study", name]))
        assert old.partition("--json")[0] == now.partition("--json")[0].replace("lab study", "lab", 1)


@pytest.mark.parametrize("name", OLD_NAMES)
def test_old_names_accept_what_they_accepted_and_mean_the_same_without_it(name):
    [command] = [each for each in old_names() if each.name == name]
    given = command.make_context(name, OLD_NAMES[name].split()).params
    names = {option: each.name for each in command.params for option in (*each.opts, *each.secondary_opts)}
    assert {option: given[names[option]] for option in OLD_OPTIONS[name]} == OLD_OPTIONS[name]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("compare", 2),
        ("compare batch-trade-offs", 2),
        ("compare batch-trade-offs --set nonsense", 2),
        ("compare batch-trade-offs --set C9.pullBatchSize=1", 2),
        ("compare batch-trade-offs --set C1.pullBatchSize=1 --watch Z", 2),
        ("compare batch-trade-offs --set C1.pullBatchSize=1 --seed -1", 2),
        ("compare nowhere --set C1.pullBatchSize=1", 2),
        ("crash-points", 2),
        ("crash-points hello", 1),
        ("crash-points xa-two-phase --restart-after-ms 0", 2),
        ("duplicates --seeds 0", 2),
        ("duplicates hello --seeds 1 --processes 1", 1),
        ("duplicates --json --help", 0),
        ("acknowledgement --write nowhere.md", 2),
        ("acknowledgement extra", 2),
        ("replication-compare --nothing", 2),
        ("study nonsense", 2),
        ("study more-queues asynchronous-steps", 2),
        ("study", 2),
    ],
)
def test_exit_codes_are_those_that_scripts_know(arguments, code):
    assert lab(*arguments.split()).exit_code == code
