"""A child process in a process group of its own, whose output goes to a file that tests can read at any time."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.support.frozen import wait_until_frozen
from tests.support.waiting import POLL_INTERVAL_S, wait_until


class ProcessFailed(AssertionError):
    """A child ended with another exit code than 0; the message carries the end of its output."""


class ManagedProcess:
    """Runs ``command``; stdout and stderr land together in ``log_path``."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_path: Path,
        environment: Mapping[str, str] | None = None,
        working_folder: Path | None = None,
    ) -> None:
        self.name = name
        self.log_path = log_path
        self._events: list[dict[str, Any]] = []
        self._events_end = 0  # bytes of the output that are in _events
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with log_path.open("wb") as log:
            self._child = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                cwd=working_folder,
                start_new_session=True,
            )

    @property
    def process_id(self) -> int:
        return self._child.pid

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    @property
    def exit_code(self) -> int | None:
        return self._child.poll()

    def output(self) -> str:
        """Everything printed so far."""
        return self.log_path.read_text("utf-8", errors="replace")

    def output_end(self, characters: int = 4000) -> str:
        return self.output()[-characters:]

    def events(self) -> list[dict[str, Any]]:
        """The whole lines of output that are JSON objects: what our drivers report.

        Only what is new is read: tests ask many times a second, for minutes, while ten thousands of lines come.
        """
        with self.log_path.open("rb") as log:
            log.seek(self._events_end)
            lines, end_of_line, _ = log.read().rpartition(b"\n")
        self._events_end += len(lines) + len(end_of_line)
        for line in lines.decode("utf-8", errors="replace").split("\n"):
            if line.startswith("{") and line.endswith("}"):
                try:
                    self._events.append(json.loads(line))
                except json.JSONDecodeError:
                    continue  # a native library printed in the middle of a line
        return list(self._events)

    def wait_for_output(
        self, pattern: str, deadline_s: float = 60.0, at_least: int = 1, poll_interval_s: float = POLL_INTERVAL_S
    ) -> None:
        """Wait until ``pattern`` (a regular expression) was printed ``at_least`` times."""
        expression = re.compile(pattern, re.MULTILINE)

        def printed() -> bool:
            enough = len(expression.findall(self.output())) >= at_least
            if not enough and not self.is_running:
                raise ProcessFailed(f"{self.name} ended ({self.exit_code}) without {pattern!r}\n{self.output_end()}")
            return enough

        what = f"{self.name} to print {pattern!r} x{at_least}"
        wait_until(printed, what, deadline_s, self.output_end, poll_interval_s)

    def wait_for_end(self, deadline_s: float = 60.0) -> None:
        """Wait until it ended, whatever its exit code."""
        wait_until(lambda: not self.is_running, f"{self.name} to end", deadline_s, self.output_end)

    def wait_for_success(self, deadline_s: float = 60.0) -> str:
        """Wait for exit code 0; return the output."""
        self.wait_for_end(deadline_s)
        if self.exit_code != 0:
            raise ProcessFailed(f"{self.name} ended with exit code {self.exit_code}\n{self.output_end()}")
        return self.output()

    def resident_bytes(self) -> int:
        """Resident memory now (Linux)."""
        fields = Path(f"/proc/{self.process_id}/statm").read_text("ascii").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def own_bytes(self) -> int:
        """Resident memory without pages of files, such as those of a mapped log (Linux)."""
        fields = Path(f"/proc/{self.process_id}/statm").read_text("ascii").split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self) -> float:
        """Processor time used so far, in user mode and in the kernel (Linux)."""
        after_name = Path(f"/proc/{self.process_id}/stat").read_text("ascii").rsplit(")", 1)[1].split()
        user, kernel = int(after_name[11]), int(after_name[12])  # fields 14 and 15 of proc(5); the list starts at 3
        return (user + kernel) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """SIGKILL to the whole group: the process gets no chance to say goodbye."""
        self._signal_group(signal.SIGKILL)
        self._child.wait(timeout=10)

    def freeze(self) -> None:
        """SIGSTOP: nothing of it runs until ``thaw``, and its connections stay open."""
        self._signal_group(signal.SIGSTOP)
        wait_until_frozen(self.process_id)

    def thaw(self) -> None:
        """SIGCONT."""
        self._signal_group(signal.SIGCONT)

    def stop(self, grace_s: float = 10.0) -> None:
        """SIGTERM, then SIGKILL for what does not end in time."""
        if self.is_running:
            self._signal_group(signal.SIGTERM)
            try:
                self._child.wait(timeout=grace_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def _signal_group(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.process_id, number)
        except ProcessLookupError:
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
