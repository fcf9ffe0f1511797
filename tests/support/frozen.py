"""When a process that was sent SIGSTOP has really stopped."""

from __future__ import annotations

from pathlib import Path

from tests.support.waiting import wait_until

#: States of proc(5): stopped; traced; a zombie; dead.
_STILL = {"T", "t", "Z", "X"}


def wait_until_frozen(*process_ids: int) -> None:
    """Wait until no thread of these processes runs any more (Linux).

    ``kill`` returns before that: one thread has to be scheduled to begin the stop of all, and on a busy machine the
    others answer requests until then.
    """
    wait_until(
        lambda: all(_states(each) <= _STILL for each in process_ids),
        f"processes {process_ids} to stop",
        seen=lambda: {each: _states(each) for each in process_ids},
        poll_interval_s=0.005,
    )


def _states(process_id: int) -> set[str]:
    """The states of its threads; none of a process that has ended."""
    found = set()
    for thread in Path(f"/proc/{process_id}/task").glob("*/stat"):
        try:
            found.add(thread.read_text("ascii", errors="replace").rsplit(")", 1)[1].split()[0])
        except OSError:  # it has ended meanwhile
            continue
    return found
