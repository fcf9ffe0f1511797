"""Looks at the live broker once a second, whether somebody watches or not: for its history and for the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from app.foundation.json_types import JsonObject, JsonValue
from app.watch.facts import facts_of
from app.watch.history import History
from app.watch.verdict import Verdict, rules_as_json

if TYPE_CHECKING:
    from app.watch.thresholds import Thresholds


#: A backlog holds for so many seconds before the look that saw it, unless one saw them itself.
NEAR_S = 5


class Watcher:
    """History and verdict, fed with the same looks. One thread only."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.history = History()
        self.verdict = Verdict(thresholds)

    def look(self, state: JsonObject, seconds: Iterable[Mapping[str, int]]) -> None:
        """``seconds``: the last full ones; those that are in the history already are left out."""
        rates = state["rates"]
        known = list(seconds)
        if known and known[-1]["second"] < self.history.last_second:
            self.history.forget_from(known[-1]["second"])
        for second in known:
            # What groups are behind by is known of now only; a look that is a little late stands for what it missed.
            is_near = rates["second"] - second["second"] <= NEAR_S
            self.history.add(second["second"], {**second, "backlog": rates["backlog"]} if is_near else second)
        self.verdict.look(facts_of(state))

    def change_thresholds(self, wanted: Mapping[str, JsonValue]) -> None:
        """Raises :class:`~app.watch.thresholds.ThresholdRefused`, ``OSError``."""
        self.verdict.thresholds.change(wanted)

    def told(self) -> JsonObject:
        """The parts of the live state that come from here: ``verdict``, and ``backlogs`` (what becomes of them)."""
        return {"verdict": self.verdict.as_json(), "backlogs": self.verdict.memory.backlogs.as_json()}

    def as_json(self) -> JsonObject:
        """The verdict and its rules."""
        rules: list[JsonValue] = [*rules_as_json(self.verdict.thresholds)]
        return {**self.verdict.as_json(), "rules": rules}

    def backlogs(self, seconds: Iterable[int]) -> list[JsonValue]:
        """What all groups were behind by in each of these seconds; None where nobody looked."""
        wanted = list(seconds)
        told = self.history.between(wanted[0], wanted[-1], ("backlog",)) if wanted else {"seconds": []}
        if not told["seconds"]:
            return [None] * len(wanted)
        known = dict(zip(told["seconds"], told["measures"]["backlog"]["max"], strict=True))
        return [known.get(second) for second in wanted]
