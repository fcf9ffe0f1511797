"""Why a world stands still, as the page says it."""

from __future__ import annotations

from app.foundation.json_types import JsonObject
from app.lab.foundation.refusal import LabRefused
from app.lab.views.world_view import violation_view
from engine.lab.checkers.watch.violation import Violation
from engine.lab.run.run import LabRun
from engine.lab.scenario.condition import Condition


def stop_reason(run: LabRun) -> JsonObject | None:
    """``{kind, text, ...}``: what ended the last stretch of ``run``; None: nothing did."""
    stopped_by = run.stopped_by
    if isinstance(stopped_by, Violation):
        return {"kind": "violation", **violation_view(stopped_by)}
    if isinstance(stopped_by, Condition):
        text = " ".join(part for part in (stopped_by.on.value, stopped_by.node, stopped_by.contains) if part)
        return {"kind": "breakpoint", "text": {"en": text, "zh": text}}
    if run.is_over:
        return {"kind": "over", "text": LabRefused("over").text}
    return None
