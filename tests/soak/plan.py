"""When what is done to the broker: a function of the minutes and the seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

KILL_EVERY_MINUTES = 5.0
#: A short run has this many kills at least.
_KILLS_MIN = 3


@dataclass(frozen=True)
class Plan:
    """All times in seconds from the beginning of the load."""

    duration_s: float
    kills_s: tuple[float, ...]
    disk_full_s: tuple[float, float]  # from, until
    flood_every_s: float

    @property
    def warm_up_s(self) -> float:
        """After each start of the broker: what memory does in that time is not judged."""
        gaps = [after - before for before, after in zip((0.0, *self.kills_s), self.kills_s, strict=False)]
        return min(90.0, min([*gaps, self.duration_s]) / 3)


def make_plan(minutes: float, kill_every_minutes: float | None, seed: int) -> Plan:
    """``kill_every_minutes``: None for what fits the length, 0 for no kill at all.

    Kills come at random moments around their times; the disk is full once, in the middle between two kills.
    """
    chance = random.Random(f"{seed}:soak")
    duration_s = minutes * 60
    if kill_every_minutes is None:
        kill_every_minutes = min(KILL_EVERY_MINUTES, minutes / (_KILLS_MIN + 1))
    every_s = kill_every_minutes * 60
    count = max(0, round(duration_s / every_s) - 1) if every_s else 0
    kills = tuple((number + 1) * every_s + chance.uniform(-0.1, 0.1) * every_s for number in range(count))
    around = [0.0, *kills, duration_s]
    middle = len(around) // 2
    full_s = (around[middle - 1] + around[middle]) / 2
    length_s = min(20.0, (around[middle] - around[middle - 1]) / 4)
    return Plan(duration_s, kills, (full_s, full_s + length_s), min(60.0, duration_s / 8))
