"""Retries of a stream's planner while a broker or a name server restarts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from engine.pipeline.source.cluster.errors import Briefly, RocketMQError

_T = TypeVar("_T")
_log = logging.getLogger("glassmq.pipeline")

#: The first pause between two tries; each is twice as long as the one before, up to the longest.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 4.0
#: Conditions that a restart of a node explains: a name server reports no topic before its brokers have registered.
_PASSING = ("ROCKETMQ_NAME_SERVER_AWAY", "ROCKETMQ_BROKER_AWAY", "ROCKETMQ_UNKNOWN_TOPIC")


@dataclass(slots=True)
class Retrying:
    """A bound for retries.

    :ivar limit_ms: how long a request is retried; 0: not at all.
    """

    limit_ms: int
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def call(self, ask: Callable[[], _T]) -> _T:
        """Return the result of ``ask``, which is called again while it fails for a reason that may pass.

        At the bound the error is raised; it then says how long the request was retried.
        """
        ends_at, pause_s, tries = self.clock() + self.limit_ms / 1_000, _FIRST_PAUSE_S, 0
        while True:
            tries += 1
            with Briefly():
                try:
                    return ask()
                except RocketMQError as error:
                    if error.condition not in _PASSING or self.limit_ms == 0:
                        raise
                    left_s = ends_at - self.clock()
                    if left_s <= 0:
                        tried = f"{error.text}; retried for {self.limit_ms} ms (option 'retryTimeoutMs')"
                        raise RocketMQError(error.condition, tried) from None
                    if tries == 1:
                        _log.warning("%s; retried for up to %d ms", error.text, self.limit_ms)
            self.sleep(min(pause_s, left_s))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
