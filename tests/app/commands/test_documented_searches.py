"""docs/semantics/delivery-semantics.md: each search in it, carried out, finds what is printed below it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.command_line import main

PROJECT = Path(__file__).parents[3]
DOCUMENT = (PROJECT / "docs" / "semantics" / "delivery-semantics.md").read_text("utf-8")
#: The command, what is printed of how many schedules were run, and the beginning of what was found.
SEARCHES = re.findall(
    r"^\$ glassmq (explore .*)\n[\w-]+: ([\d,]+ schedules(?: \(.*\))?).*\n(.*?)[:(]", DOCUMENT, re.MULTILINE
)
#: How many schedules a test of every day runs.
QUICK_MAX = 20


def test_the_document_has_its_searches():
    assert len(SEARCHES) == DOCUMENT.count("$ glassmq explore") == 6


@pytest.mark.parametrize(
    ("command", "schedules", "found"),
    [
        pytest.param(
            *each, marks=[pytest.mark.thorough] if int(each[1].split()[0].replace(",", "")) > QUICK_MAX else []
        )
        for each in SEARCHES
    ],
    ids=[each[0] for each in SEARCHES],
)
def test_a_documented_search_finds_what_is_printed(command, schedules, found, monkeypatch):
    monkeypatch.chdir(PROJECT)
    printed = CliRunner().invoke(main, shlex.split(command), prog_name="glassmq").output
    assert schedules in printed
    assert f"\n{found}" in printed
