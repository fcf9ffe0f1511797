"""Seeded delays of frames, under which a test that passes by luck fails: which frames come late, and by how much.

Frames that come late are overtaken by others of their connection, and by those of other clients.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.faults.fault_rule import FaultAction, FaultRule
from engine.faults.frame_subject import REPLY
from engine.protocol.request_code import RequestCode

_REQUESTS = (
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.PULL_MESSAGE,
    RequestCode.QUERY_CONSUMER_OFFSET,
    RequestCode.UPDATE_CONSUMER_OFFSET,
    RequestCode.CONSUMER_SEND_MSG_BACK,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    RequestCode.LOCK_BATCH_MQ,
    RequestCode.HEART_BEAT,
    RequestCode.END_TRANSACTION,
    RequestCode.CHECK_TRANSACTION_STATE,
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
)
#: Frames that may be late. Requests without a reply have none that could.
FRAMES = (
    *(code.name for code in _REQUESTS),
    *(f"{REPLY} to {code.name}" for code in _REQUESTS[:8]),
)
#: The share of the kinds of frames that come late in one run.
_SHARE = 0.4
#: Milliseconds, all far below the time for which a RocketMQ client waits for a reply: 3 s for a send.
_DELAYS_MS = (5, 20, 60, 200)
_RATIOS = (0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class FrameDelay:
    """Frames of one kind that come ``ms`` late: the share ``ratio`` of them, chosen by ``seed``."""

    frame: str
    ms: int
    ratio: float
    seed: int

    def rule(self) -> FaultRule:
        """Return a new rule that carries it out."""
        return FaultRule(FaultAction.DELAY, self.frame, ms=self.ms, ratio=self.ratio, seed=self.seed)

    def __str__(self) -> str:
        """Return it as a test writes it."""
        return f"faults.delay({self.frame!r}, ms={self.ms}, ratio={self.ratio:g}, seed={self.seed})"


def delays_of(seed: int) -> list[FrameDelay]:
    """Return the delays of a seed, at most one for each kind of frame."""
    chance = random.Random(seed)
    late = [frame for frame in FRAMES if chance.random() < _SHARE]
    return [FrameDelay(frame, chance.choice(_DELAYS_MS), chance.choice(_RATIOS), seed) for frame in late]


def smallest_failing(delays: Sequence[FrameDelay], fails: Callable[[list[FrameDelay]], bool]) -> list[FrameDelay]:
    """Return those of ``delays`` that a failure needs; each costs one run of ``fails``."""
    kept = list(delays)
    for delay in delays:
        fewer = [one for one in kept if one is not delay]
        if fails(fewer):
            kept = fewer
    return kept
