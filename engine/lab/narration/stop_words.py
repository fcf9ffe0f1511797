"""Why a run stands still, in a sentence: which breakpoint of the scenario it has reached, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.lab.scenario.condition import Condition, ConditionKind
from engine.texts import Text, plain

if TYPE_CHECKING:
    from engine.lab.narration.narrator import Caption


def said_of_breakpoint(condition: Condition, caption: Caption | None, event: int) -> Mapping[str, str]:
    """What ``condition`` waits for; with the caption of the moment, if that is about the same event."""
    if condition.on is ConditionKind.TIME:
        what = Text("stop.time", seconds=f"{condition.time_us / 1_000_000:g}")
    else:
        where = Text("stop.on", node=condition.node) if condition.node else plain("")
        text = Text("stop.with", text=condition.contains) if condition.contains else plain("")
        what = Text(f"stop.{condition.on.value}", where=where, text=text)
    why = Text("stop.why", what=what)
    if caption is None or caption.event != event:
        return why
    return Text("caption.why", deed=why, why=caption.text)
