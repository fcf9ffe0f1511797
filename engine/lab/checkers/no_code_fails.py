"""Checker: no exception leaves the engine's code uncaught.

Anomaly: *broken code*. The engine answers what a client, a link or a disk can do wrong with named exceptions and caught
ones; an exception that reaches the event loop is a bug.

Fault model: any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.lab.checkers.checker import Checker, Texts
from engine.lab.checkers.violation import Anomaly

if TYPE_CHECKING:
    from engine.runtime.lab_failures import LabFailure


class NoCodeFails(Checker):
    """See the module."""

    name = "no-code-fails"
    anomaly = Anomaly.BROKEN_CODE
    title: ClassVar[Texts] = {"en": "No code fails", "zh": "没有代码异常"}
    why: ClassVar[Texts] = {
        "en": "An exception that nobody caught is a bug of GlassMQ, whatever was broken before.",
        "zh": "无论之前发生了什么故障，没有被捕获的异常都是 GlassMQ 的缺陷。",
    }

    def code_failed(self, failure: LabFailure) -> None:
        """An exception reached the event loop."""
        number, actor = failure.event_number, failure.actor
        reason = f"{failure.message}: {failure.exception!r}"
        self.report(
            {"node": actor.partition("/")[0], "actor": actor, "event": number},
            (),
            f"In event {number} {actor} failed: {reason}.",
            f"在事件 {number} 中 {actor} 出错：{reason}。",
        )
