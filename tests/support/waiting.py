"""The one place where a test waits for a thread or a process: a condition, polled until it holds or time is up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

POLL_INTERVAL_S = 0.05
#: For a start that is measured: one of ours takes a quarter of a second.
START_POLL_INTERVAL_S = 0.005

T = TypeVar("T")


class DeadlinePassed(AssertionError):
    """A condition did not come true in time; the message says which, and what was seen instead."""


def wait_until(
    condition: Callable[[], T],
    what: str,
    deadline_s: float = 60.0,
    seen: Callable[[], object] | None = None,
    poll_interval_s: float = POLL_INTERVAL_S,
) -> T:
    """Poll ``condition`` until it returns something true; return that.

    ``what`` completes the sentence "waited N s for ...". ``seen`` is called only on failure: it returns what the
    process printed so far, or another state that explains why the condition never held.
    """
    ends_at = time.monotonic() + deadline_s
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= ends_at:
            detail = f"\n--- seen ---\n{seen()}" if seen else ""
            raise DeadlinePassed(f"waited {deadline_s:g} s for {what}{detail}")
        pause.wait(poll_interval_s)
