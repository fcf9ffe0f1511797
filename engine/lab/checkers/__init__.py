"""Invariants as executable code: claims that must hold after every event of a lab world.

checkers = CheckerSet(world)
checkers.after_event(event_number)  # -> violations found by this event, usually none
checkers.at_end()                   # -> what only the end shows
"""

from __future__ import annotations

from engine.lab.checkers.checker_set import CHECKERS, CheckerSet
from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.violation import Anomaly, Violation

__all__ = ["CHECKERS", "Anomaly", "Checker", "CheckerSet", "Violation"]
