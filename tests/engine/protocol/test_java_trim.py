"""What Java's clients cut off tags and call blank, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.body.subscription_data import build_subscription_data
from engine.protocol.java_trim import java_trim
from engine.protocol.message.message_properties import is_carriable


@given(st.text())
def test_what_is_cut_is_at_the_ends_and_at_most_a_space(text):
    trimmed = java_trim(text)
    before, _, after = text.partition(trimmed) if trimmed else (text, "", "")
    assert all(character <= " " for character in before + after)
    assert not trimmed or min(trimmed[0], trimmed[-1]) > " "


@pytest.mark.parametrize("blank", ["\u3000", "\u00a0", "\u2003", "\u2028", "\x85"])
def test_other_blanks_are_part_of_a_tag_and_of_a_property(blank):
    tag = f"{blank}new{blank}"
    assert build_subscription_data("T", f" {tag} || \told").tags_set == (tag, "old")
    assert build_subscription_data("T", blank).tags_set == (blank,)
    assert is_carriable(blank)


def test_controls_and_spaces_are_blank():
    assert not is_carriable("\x00\t \x1f")
