"""A run that stops says in a sentence why."""

from __future__ import annotations

from engine.lab.narration.narrator import Caption
from engine.lab.narration.stop_words import said_of_breakpoint
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.texts import plain


def test_each_kind_of_breakpoint_has_a_sentence():
    for kind in ConditionKind:
        said = said_of_breakpoint(Condition(kind, "C1", "order-2", 1_500_000), None, 7)
        assert str(said).startswith("The scenario stops where ")
        assert ("C1" in said["zh"] and "order-2" in said["zh"]) or kind is ConditionKind.TIME


def test_what_happened_there_is_told_too():
    condition = Condition(ConditionKind.CONSUMED, "C1")
    caption = Caption(7, plain("C1's listener is done with order-2."), "listener")
    assert str(said_of_breakpoint(condition, caption, 7)) == (
        "The scenario stops where a listener on C1 has returned. C1's listener is done with order-2."
    )
    assert "order-2" not in str(said_of_breakpoint(condition, caption, 8))
