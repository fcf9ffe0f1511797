"""Checker: no exception of the engine's code goes uncaught.

Anomaly: *broken code*. The engine answers what a client, a link or a disk can do wrong with named exceptions and caught
ones; an exception that reaches the event loop is a bug.

Fault model: any.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.scenario.scenario import Scenario
from engine.runtime.lab.lab_failures import LabFailure


class NoCodeFails(Checker):
    """Check for unhandled exceptions."""

    name = "no-code-fails"
    anomaly = Anomaly.BROKEN_CODE

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        return True

    def code_failed(self, failure: LabFailure) -> None:
        number, actor = failure.event_number, failure.actor
        reason = f"{failure.message}: {failure.exception!r}"
        self.report(
            {"node": actor.partition("/")[0], "actor": actor, "event": number},
            self.text("failed", number=number, actor=actor, reason=reason),
        )
