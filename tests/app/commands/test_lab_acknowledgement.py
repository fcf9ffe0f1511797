"""``glassmq lab acknowledgement``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.lab.lab_acknowledgement import table_of
from engine.lab.sweep.acknowledgement import Acknowledged, FailureDamage, FailureKind, PolicyFigures

DOCUMENT = Path(__file__).parents[3] / "docs" / "semantics" / "acknowledgement.md"


def acknowledgement(*arguments):
    return CliRunner().invoke(main, ["lab", "acknowledgement", *arguments], prog_name="glassmq")


def test_a_row_tells_each_loss_and_how_many_copies_there_are():
    damages = {FailureKind.KILL: FailureDamage(40, 0, 0, 0), FailureKind.POWER_CUT: FailureDamage(40, 9, 7, 1_250_000)}
    damages |= {FailureKind.TORN_WRITE: FailureDamage(40, 0, 0, 0), FailureKind.GONE: FailureDamage(40, 0, 0, 0)}
    kinds = (Acknowledged.IN_MEMORY, Acknowledged.BY_A_REPLICA)
    _, _, memory, replica = table_of([PolicyFigures(kind, 4_250, damages) for kind in kinds]).splitlines()
    cut = "something in 9 of 40 runs, at most 7 messages, the last 1.2 s"
    nothing = "nothing, in 40 runs"
    losses = f"{nothing} | {cut} | {nothing} | {nothing} | 4.2 ms |"
    assert memory == f"| in memory (async flush) | {losses}"
    assert replica == f"| by a replica (async flush, 2 copies) | {losses}"


@pytest.mark.thorough
def test_the_table_of_the_document_is_that_of_today_and_is_written_between_its_marks(tmp_path):
    copy = tmp_path / "copy.md"
    begin, end = "<!-- glassmq lab acknowledgement -->\n", "<!-- end -->"
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(begin)
    copy.write_text(before + begin + "old" + end + rest.partition(end)[2])
    result = acknowledgement("--write", str(copy))
    assert result.exit_code == 0, result.output
    assert copy.read_text() == text


def test_a_document_without_a_place_for_the_table_is_refused_before_anything_runs(tmp_path):
    document = tmp_path / "other.md"
    document.write_text("# Other\n")
    result = acknowledgement("--write", str(document))
    assert result.exit_code == 2
    assert "has no <!-- glassmq lab acknowledgement -->" in result.output
    assert document.read_text() == "# Other\n"
