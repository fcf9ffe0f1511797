"""The options of ``make bench``: what is refused, before anything is measured, and where the tables go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import run
from tests.benchmarks.document import machine, publish
from tests.benchmarks.run import MARK, parse_arguments

DOCUMENT = Path(__file__).parents[2] / "docs" / "performance.md"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--loads", "sync-1,nothing"], "--loads: no nothing; allowed: sync-1, sync-8"),
        (["--brokers", "mine"], "--brokers: no mine; allowed: glassmq, interpreted, real"),
        (["--rounds", "0"], "--rounds and --starts: at least 1"),
        (["--seconds", "0"], "--warm-up and --seconds: more than 0"),
        (["--backlog", "10"], "--backlog: 1,000 to 1,000,000"),
        (["--write", "absent.md"], "--write: "),
        (["--write", str(DOCUMENT), "--loads", "sync-1"], "--write replaces all figures, so it goes with all --loads"),
        (
            ["--write", str(DOCUMENT), "--brokers", "real"],
            "--write replaces all figures, so it goes with all --brokers",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit):
        parse_arguments(arguments)
    assert message in capsys.readouterr().err


def test_the_document_on_performance_has_its_place():
    assert parse_arguments(["--write", str(DOCUMENT)]).write == DOCUMENT


@pytest.mark.parametrize("part", ["idempotence", "kafka", "leadership", "replication"])
def test_a_document_without_its_place_is_refused_by_every_part(part, tmp_path, capsys):
    document = tmp_path / "document.md"
    document.write_text("no place here\n")
    with pytest.raises(SystemExit):
        run.main([part, "--write", str(document)])
    assert f"<!-- make bench {part}" in capsys.readouterr().err


def test_only_the_marked_part_is_replaced(tmp_path, capsys):
    document = tmp_path / "document.md"
    document.write_text(f"before\n<!-- {MARK} -->\nold\n<!-- end -->\nreasons\n<!-- other -->\nkept\n<!-- end -->\n")
    publish(document, MARK, "| new |\n")
    assert document.read_text() == (
        f"before\n<!-- {MARK} -->\n| new |\n<!-- end -->\nreasons\n<!-- other -->\nkept\n<!-- end -->\n"
    )
    assert "| new |" in capsys.readouterr().out


def test_a_machine_that_was_evenly_busy_has_one_load_average():
    assert machine([1.52, 1.48, 1.5]).endswith("load average 1.5")
    assert machine([0.5, 2.0]).endswith("load average 0.5 to 2.0")
