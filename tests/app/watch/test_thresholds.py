"""Thresholds that people set: checked, kept, and never in the way of a start."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from app.watch.rules import RULES
from app.watch.thresholds import Thresholds
from engine.fields.refusal import FieldRefused

DOCUMENT = Path(__file__).parents[3] / "docs" / "metrics.md"
BEHIND = next(rule for rule in RULES if rule.name == "group_behind")
DEAD = next(rule for rule in RULES if rule.name == "dead_letters")


def test_what_was_set_holds_after_a_restart_and_defaults_are_not_written_down(tmp_path):
    file = tmp_path / "verdict.json"
    Thresholds(file).change({"group_behind": 5_000, "dead_letters": None, "half_undecided": 30})
    again = Thresholds(file)
    assert (again.of(BEHIND), again.of(DEAD)) == (5_000, None)
    assert json.loads(file.read_text()) == {"group_behind": 5_000, "dead_letters": None}
    again.change({"group_behind": BEHIND.default})
    assert json.loads(file.read_text()) == {"dead_letters": None}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"nonsense": 1}, "nonsense: is not allowed here; allowed: "),
        ({"group_behind": 0}, "0 is not allowed; allowed: group_behind: an integer from 1 to"),
        ({"group_behind": 10**30}, "is not allowed"),
        ({"group_behind": "5"}, "'5' is not allowed"),
        ({"group_behind": True}, "is not allowed"),
        ({"group_behind": 1.5}, "is not allowed"),
    ],
)
def test_nonsense_is_refused_by_name_and_nothing_of_it_is_set(wanted, words):
    thresholds = Thresholds()
    with pytest.raises(FieldRefused, match=words):
        thresholds.change({"dead_letters": 7, **wanted})
    assert thresholds.of(DEAD) == DEAD.default


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xfe", b'{"group_behind": "x", "gone_rule": 3, "damaged": 4}'])
def test_a_file_that_cannot_be_used_does_not_keep_a_broker_from_starting(tmp_path, content):
    file = tmp_path / "verdict.json"
    file.write_bytes(content)
    thresholds = Thresholds(file)
    assert thresholds.of(BEHIND) == BEHIND.default
    damaged = next(rule for rule in RULES if rule.name == "damaged")
    assert thresholds.of(damaged) == (4 if b"damaged" in content else 1)
    for value in (7, 8):
        thresholds.change({BEHIND.name: value})
    assert file.with_suffix(".damaged").read_bytes() == content
    assert Thresholds(file).of(BEHIND) == 8


def test_the_document_names_every_rule_with_its_default():
    reported = DOCUMENT.read_text(encoding="utf-8")
    written = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([\d,]+) \S+ \|$", reported, re.MULTILINE))
    assert written == {rule.name: f"{rule.default:,}" for rule in RULES}
