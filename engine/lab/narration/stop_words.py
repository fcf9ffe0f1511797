"""The sentence that says why a run has stopped: the breakpoint that was reached, and its cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.lab.scenario.condition import Condition, ConditionKind
from engine.texts import Text, catalogue, plain

if TYPE_CHECKING:
    from engine.lab.narration.narrator import Caption

#: The subject if a condition names no node.
_ANYBODY = {
    ConditionKind.LABEL: "stop.some_node",
    ConditionKind.SENT: "stop.some_producer",
    ConditionKind.CONSUME_BEGINS: "stop.some_consumer",
    ConditionKind.CONSUMED: "stop.some_consumer",
}


def said_of_breakpoint(condition: Condition, caption: Caption | None, event: int) -> Mapping[str, str]:
    """Return what ``condition`` waits for; or the caption of the moment, if that is about the same event and says
    it.
    """
    if caption is None or caption.event != event:
        return _awaited(condition)
    says_it = condition.contains and condition.contains.lower() in caption.text["en"].lower()
    if says_it or condition.on is ConditionKind.COMMAND:
        return caption.text
    return Text("caption.why", action=_awaited(condition), why=caption.text)


def _awaited(condition: Condition) -> Mapping[str, str]:
    on, node, text = condition.on, condition.node, _quoted(condition)
    if on is ConditionKind.TIME:
        return Text("stop.time", seconds=f"{condition.time_us / 1_000_000:g}")
    if on is ConditionKind.FRAME:
        name = Text("stop.named_frame", name=condition.contains) if condition.contains else Text("stop.some_frame")
        return Text("stop.frame", name=name, where=Text("stop.from_or_to", node=node) if node else plain(""))
    if on is ConditionKind.COMMAND:
        return Text("stop.command", where=Text("stop.on", node=node) if node else plain(""), text=text)
    return Text(f"stop.{on.value}", who=Text("stop.who", node=node) if node else Text(_ANYBODY[on]), text=text)


def _quoted(condition: Condition) -> Mapping[str, str]:
    """Return what a condition looks for, in brackets; a task's step by its name in each language."""
    if not condition.contains:
        return plain("")
    label = f"label.{condition.contains}"
    return Text("stop.with", text=Text(label) if label in catalogue("en") else plain(condition.contains))
