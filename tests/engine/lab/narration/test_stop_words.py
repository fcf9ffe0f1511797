"""A run that stops says in a sentence why."""

from __future__ import annotations

from engine.lab.narration.narrator import Caption
from engine.lab.narration.stop_words import said_of_breakpoint
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.texts import plain


def test_each_kind_of_breakpoint_has_a_sentence_with_and_without_a_node():
    for kind in ConditionKind:
        for condition in (Condition(kind, "C1", "order-2", 1_500_000), Condition(kind, time_us=1_500_000)):
            said = said_of_breakpoint(condition, None, 7)
            assert said["en"][0].isupper()
            assert said["en"].endswith(".")
            assert said["zh"].endswith("。")
            assert said["zh"][0] not in "的，（"
            assert ("C1" in said["zh"] and "order-2" in said["zh"]) or not condition.node or kind is ConditionKind.TIME


def test_a_step_of_a_task_is_reported_by_its_name_in_each_language():
    said = said_of_breakpoint(Condition(ConditionKind.LABEL, "P1", "executes the local transaction"), None, 7)
    assert said["en"] == "A task of P1 has reached this step («executes the local transaction»)."
    assert said["zh"] == "P1 的一个任务执行到这一步（“执行本地事务”）。"


def test_what_happened_there_is_reported_too_and_once_only():
    caption = Caption(7, plain("C1's listener is done with order-2."), "listener")
    any_of_c1 = Condition(ConditionKind.CONSUMED, "C1")
    assert str(said_of_breakpoint(any_of_c1, caption, 7)) == (
        "The listener of C1 has returned. C1's listener is done with order-2."
    )
    assert said_of_breakpoint(Condition(ConditionKind.CONSUMED, contains="order-2"), caption, 7) == caption.text
    assert "order-2" not in str(said_of_breakpoint(any_of_c1, caption, 8))
