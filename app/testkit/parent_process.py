"""The end of a parent process, so that a broker of killed tests ends by itself."""

from __future__ import annotations

import os
import select
import stat
import sys
import threading
from collections.abc import Callable

#: Seconds between two checks of whether the parent process still runs.
_POLL_S = 0.2


def watch_parent(stop: Callable[[], object]) -> None:
    """Call ``stop`` once, when the parent process has ended, or has closed the pipe that is the standard input."""
    parent = os.getppid()
    is_pipe = sys.stdin is not None and _is_pipe(sys.stdin.fileno())

    def watch() -> None:
        while os.getppid() == parent:
            if not is_pipe:
                threading.Event().wait(_POLL_S)
                continue
            readable, _, _ = select.select([sys.stdin.fileno()], [], [], _POLL_S)
            if readable and not os.read(sys.stdin.fileno(), 4_096):
                break
        stop()

    threading.Thread(target=watch, name="glassmq-parent", daemon=True).start()


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
