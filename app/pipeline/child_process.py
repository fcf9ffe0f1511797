"""A child process with everything that it starts: its bounded output, and its complete end.

The child leads a session of its own. Java, which it starts, stays in its process group; Spark's Python workers create
one of their own, but they stay in the session: so the session is searched in the end.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from app.foundation.event_budget import EventBudget

log = logging.getLogger("glassmq.pipeline")

#: Bytes of one line; longer ones are discarded while they arrive.
LINE_MAX = 2 * 1024 * 1024
#: Lines that are read per second, in the long run and in one burst. The child waits meanwhile.
LINES_PER_SECOND = 200
LINE_BURST = 1_000
#: Seconds from the request to stop to SIGKILL. A stop takes less than 5 s in total.
STOP_PATIENCE_S = 2.8
#: Seconds that processes of the child may outlive it, and that a child may live on without its standard output.
LEFTOVERS_S = 0.8
_SILENT_END_S = 5.0
_CHUNK = 64 * 1024


class ChildProcess:
    """A child process that runs as soon as the object is created. ``on_line`` is called with each line, ``on_end`` with
    the exit code when the session is empty; both in a thread of its own.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        on_line: Callable[[bytes], None],
        on_end: Callable[[int], None],
    ) -> None:
        self._on_line = on_line
        self._on_end = on_end
        self._stopping = threading.Event()
        self._gone = threading.Event()
        # Nothing is written to its standard input, which ends when this process does.
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
            bufsize=0,
        )
        self._thread = threading.Thread(target=self._follow, name="pipeline job", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            with self._process:  # closes its pipes, and waits for it
                kill_session(self.pid)
            raise

    @property
    def pid(self) -> int:
        """Return the process id, which is also the session id."""
        return self._process.pid

    def stop(self) -> None:
        """Ask the process to end, and kill it some seconds later. Returns immediately."""
        if self._stopping.is_set() or self._gone.is_set():
            return
        self._stopping.set()
        hurry(self.pid)
        self._signal(signal.SIGTERM)
        threading.Thread(target=self._kill_late, name="pipeline stop", daemon=True).start()

    def wait(self, limit_s: float) -> bool:
        """Return whether nothing is left of it, now or within this many seconds."""
        return self._gone.wait(limit_s)

    def _kill_late(self) -> None:
        if not self._gone.wait(STOP_PATIENCE_S):
            kill_session(self.pid)

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal.

        Unlike ``Popen.send_signal``, this does not reap a child that has just ended: see ``_await_end``.
        """
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _follow(self) -> None:
        assert self._process.stdout is not None and self._process.stdin is not None
        try:
            budget = EventBudget(LINES_PER_SECOND, LINE_BURST, time.monotonic())
            for line in bounded_lines(self._process.stdout.fileno()):
                while not budget.take(time.monotonic()) and not self._stopping.is_set():
                    self._stopping.wait(1 / LINES_PER_SECOND)
                self._on_line(line)
        except Exception:
            log.exception("a job's report could not be read")
        self._await_end()
        self._sweep()
        code = self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._gone.set()
        self._on_end(code)

    def _await_end(self) -> None:
        """Wait for the end without reaping the child: until it is reaped, no other process can get its process id."""
        ends_at = time.monotonic() + _SILENT_END_S
        while time.monotonic() < ends_at:
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
                return
            time.sleep(0.02)
        kill_session(self.pid)

    def _sweep(self) -> None:
        """Wait for the session to empty: Java ends by itself when its Python is gone; the rest is killed, immediately
        when time is short.
        """
        ends_at = time.monotonic() + (0.0 if self._stopping.is_set() else LEFTOVERS_S)
        while session_members(self.pid) and time.monotonic() < ends_at:
            time.sleep(0.05)
        kill_session(self.pid)


def bounded_lines(descriptor: int) -> Iterator[bytes]:
    """Yield the lines that are read from ``descriptor``, without their ends; those over :data:`LINE_MAX` are left
    out.
    """
    rest = bytearray()
    is_skipping = False
    while chunk := os.read(descriptor, _CHUNK):
        rest += chunk
        *lines, last = rest.split(b"\n") if b"\n" in chunk else (rest,)
        for line in lines:
            if not is_skipping and len(line) <= LINE_MAX:
                yield bytes(line)
            is_skipping = False
        rest = bytearray(last)
        if len(rest) > LINE_MAX:
            is_skipping = True
            rest.clear()
    if rest and not is_skipping:
        yield bytes(rest)


def session_members(session: int) -> list[int]:
    """Return the living processes of that session, where the system shows them (Linux)."""
    members = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = entry.read_text(errors="replace")
        except OSError:  # it is gone
            continue
        # "pid (name) state parent group session ...", and the name may have any characters.
        state, _, _, of_session = text.rpartition(")")[2].split()[:4]
        if int(of_session) == session and state not in "ZX":
            members.append(int(entry.parent.name))
    return members


def hurry(session: int) -> None:
    """Remove the low priority of this session: on a busy machine its end would take as long as its work.

    Linux lets only root do so; the runs of other users end as slowly as they ran.
    """
    with contextlib.suppress(OSError):
        Path(f"/proc/{session}/autogroup").write_text("0")


def kill_session(session: int) -> None:
    """Kill the process group and everything else in the session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGKILL)
    for process_id in session_members(session):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process_id, signal.SIGKILL)
