"""Samples the live broker once a second, with or without viewers, for its history and for the verdict."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from app.foundation.json_types import JsonValue
from app.watch.events import Events
from app.watch.facts import facts_of
from app.watch.history import History
from app.watch.verdict import ClusterVerdict, rules_as_json

if TYPE_CHECKING:
    from app.picture.health import HealthReport
    from app.picture.live_state import HealthFacts, WatchedParts
    from app.watch.thresholds import Thresholds

log = logging.getLogger("glassmq.host")

#: Seconds between two samples; the rest after a sample is at least this many times the processor time of the sample.
INTERVAL_S = 1.0
REST_FACTOR = 50
#: A sampled backlog also counts for this many seconds before the sample, unless they were sampled themselves.
NEAR_S = 5


class Watcher:
    """History, events and verdict, from the same samples. One thread only."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.history = History()
        self.events = Events()
        self.verdict = ClusterVerdict(thresholds)

    def look(self, state: HealthFacts, seconds: Iterable[Mapping[str, int]]) -> None:
        """Take a sample. ``seconds``: the last full ones; those that are in the history already are left out."""
        rates = state["rates"]
        known = list(seconds)
        if known and known[-1]["second"] < self.history.last_second:
            self.history.forget_from(known[-1]["second"])
        for second in known:
            # The lag of groups is known at present only; a slightly late sample stands for what it missed.
            is_near = rates["begin_us"] // 1_000_000 - second["second"] <= NEAR_S
            self.history.add(second["second"], {**second, "backlog": rates["backlog"]} if is_near else second)
        self.events.see_groups(state["cluster"]["now_us"] // 1_000, state["groups"])
        self.verdict.look(facts_of(state))

    def change_thresholds(self, wanted: Mapping[str, JsonValue]) -> None:
        """Change thresholds. Raises :class:`~engine.fields.refusal.FieldRefused`, ``OSError``."""
        self.verdict.thresholds.change(wanted)

    def state_parts(self) -> WatchedParts:
        """Return the parts of the live state that come from here."""
        return {
            "verdict": self.verdict.as_json(),
            "backlogs": self.verdict.memory.backlogs.as_json(),
            "events": self.events.newest(),
        }

    def as_json(self) -> HealthReport:
        """Return the verdict and its rules."""
        return {**self.verdict.as_json(), "rules": rules_as_json(self.verdict.thresholds)}

    def backlogs(self, begin_us: Iterable[int]) -> list[float | None]:
        """Return the sum of all groups' lags in each of the seconds that begin then; None where there was no sample."""
        wanted = list(begin_us)
        if not wanted:
            return []
        reported = self.history.between(wanted[0] // 1_000_000, wanted[-1] // 1_000_000, ("backlog",))
        if not reported["begin_us"]:
            return [None] * len(wanted)
        known = dict(zip(reported["begin_us"], reported["measures"]["backlog"]["max"], strict=True))
        return [known.get(begin) for begin in wanted]


async def sample_forever(
    sample: Callable[[], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    used_s: Callable[[], float] = time.thread_time,
) -> None:
    """Call ``sample`` every second; where that is much work, less often, so that it takes one part in 50 of the time.

    ``used_s`` is the processor time of this thread, in seconds: a sample that only waited for the processor, on a busy
    machine, must not put off the next one.
    """
    while True:
        started_s = used_s()
        try:
            sample()
        except Exception:
            log.exception("the broker could not be sampled; the next sample follows")
        await sleep(max(INTERVAL_S, REST_FACTOR * (used_s() - started_s)))
