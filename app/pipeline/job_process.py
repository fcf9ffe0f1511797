"""A process that runs one job: its output, its end, and its cleanup."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from app.pipeline.child_process import session_members
from app.pipeline.terminal_report import TerminalReport
from engine.pipeline.errors import PipelineError
from engine.pipeline.jobs.description import JobDescription
from engine.pipeline.jobs.report import JsonLinesReport

#: Seconds from the request to stop to the end of the process.
STOP_LIMIT_S = 2.4


class Outlet(io.TextIOWrapper):
    """A file descriptor to which results are written. When its reader is gone the job stops, but does not fail."""

    def __init__(self, descriptor: int, stop: threading.Event) -> None:
        super().__init__(os.fdopen(descriptor, "wb"), encoding="utf-8", errors="replace")
        self._stop = stop

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            super().flush()
        except BrokenPipeError:
            self._stop.set()


class JobProcess:
    """This process while it runs one job.

    Spark's Java process and its Python workers write to the stdout and stderr that they inherit, so both lead to the
    log before Spark starts; the user's output goes through duplicates that are not inherited.
    """

    def __init__(
        self, description: JobDescription, arguments: dict[str, Any], log_file: Path | None, *, json_rows: int | None
    ) -> None:
        """Create the process's state.

        :param json_rows: most rows of a table in lines of JSON; None: print tables.
        """
        self._description = description
        self._arguments = arguments
        self._stop = threading.Event()
        self._signal: int | None = None
        self._log_file = log_file
        self._log_path = self._divert_output()
        self._terminal = None if json_rows else TerminalReport(description, self._output, self._words)
        self._json = JsonLinesReport(self._output, json_rows) if json_rows else None

    def _divert_output(self) -> Path:
        self._output = Outlet(os.dup(1), self._stop)
        self._words = Outlet(os.dup(2), self._stop)
        if self._log_file is None:
            descriptor, name = tempfile.mkstemp(prefix="glassmq-pipeline-", suffix=".log")
            path = Path(name)
        else:
            path = self._log_file
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.close(descriptor)
        return path

    @staticmethod
    def give_way(niceness: int) -> None:
        """Lower the priority of this process. Where sessions share the processor as groups, a nice value counts only
        inside its session, so the session's value is set as well.
        """
        if niceness == 0:
            return
        os.nice(niceness)
        try:
            Path("/proc/self/autogroup").write_text(str(niceness))
        except OSError:
            pass

    def listen_to_signals(self, *, ends_with_stdin: bool) -> None:
        """Let Ctrl-C and SIGTERM end the job; a second one ends the process immediately."""

        def ask_to_stop(number: int, _frame: FrameType | None) -> None:
            if self._signal is not None:
                os._exit(128 + number)
            self._signal = number
            # Setting an event takes a lock that the interrupted code may hold.
            threading.Thread(target=self._stop.set, daemon=True).start()

        signal.signal(signal.SIGINT, ask_to_stop)
        signal.signal(signal.SIGTERM, ask_to_stop)
        threading.Thread(target=self._watch_the_clock, name="stop limit", daemon=True).start()
        if ends_with_stdin:
            threading.Thread(target=self._wait_for_end_of_stdin, name="parent's end", daemon=True).start()

    def _wait_for_end_of_stdin(self) -> None:
        """Wait for the end of stdin: the process that started this one has the other end, which closes when that
        process is gone for whatever reason.
        """
        while os.read(0, 4096):
            pass
        self._stop.set()

    def run(
        self,
        master: str,
        cluster: dict[str, str],
        conf: dict[str, str],
        work_folder: Path | None,
    ) -> NoReturn:
        """Run the job and end this process. Exit code 0: done; 1: it failed; 128 and the signal's number: stopped.

        :param cluster: options of the source that name the cluster and the credentials.
        """
        from engine.pipeline.jobs.runner import run_job

        self._starting(master)
        report = self._json or self._terminal
        assert report is not None
        failure = None
        try:
            run_job(
                self._description.name,
                self._arguments,
                cluster,
                master,
                report,
                self._stop,
                conf=conf,
                work_folder=work_folder,
                started=self._started,
            )
        except PipelineError as error:
            failure = error
        self._say_the_end(failure)
        self._leave(1 if failure is not None else 0 if self._signal is None else 128 + self._signal)

    def _watch_the_clock(self) -> None:
        """End the process in time after a stop, whatever hangs on the way out."""
        self._stop.wait()
        time.sleep(STOP_LIMIT_S)
        self._leave(0 if self._signal is None else 128 + self._signal)

    @staticmethod
    def _leave(code: int) -> NoReturn:
        # A session leader was started for this job alone: nothing in its session may outlive the job.
        own = os.getpid()
        if os.getsid(0) == own:
            for process_id in session_members(own):
                if process_id != own:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(process_id, signal.SIGKILL)
        # PySpark's own exit would wait for a Java process that is gone already.
        os._exit(code)

    def _starting(self, master: str) -> None:
        if self._json is not None:
            self._json.write("starting", job=self._description.name, master=master)
        if self._terminal is not None:
            self._terminal.line(f"{self._description.name}: starting Spark on {master}, which takes 5 to 30 s ...")

    def _started(self) -> None:
        if self._json is not None:
            self._json.write("running")
        if self._terminal is not None:
            self._terminal.line("running (Ctrl-C ends it)")

    def _say_the_end(self, failure: PipelineError | None) -> None:
        if self._terminal is not None:
            self._terminal.print_tables()
        if failure is not None:
            if self._json is not None:
                self._json.write("failed", error=str(failure), text=failure.sentence, detail=failure.detail)
            if self._terminal is not None:
                self._terminal.line(f"Error: {failure}\nSpark's output is in {self._log_path}")
            return
        if self._json is not None:
            self._json.write("stopped" if self._stop.is_set() else "ended")
        if self._terminal is not None:
            self._terminal.line("stopped" if self._stop.is_set() else "done")
        if self._log_file is None:
            self._log_path.unlink(missing_ok=True)
