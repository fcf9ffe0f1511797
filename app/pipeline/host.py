"""The runs of jobs that pages have started: each in a process of its own, a few at a time, a few kept.

Spark starts with the first run and ends with it; without runs it does not exist. Every run gives way to the broker: its
processes are nice, and Java's memory is bounded.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import secrets
import shutil
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.foundation.json_types import JsonObject
from app.foundation.translator import in_all_languages
from app.picture.pages.pipeline import QueueOffsets, ShownRun, WholeRun
from app.pipeline.child_process import ChildProcess
from app.pipeline.run_phase import RunPhase
from app.pipeline.run_record import RunRecord
from engine.pipeline.jobs.arguments import Argument, read_arguments
from engine.pipeline.jobs.registry import describe
from engine.pipeline.jobs.report import ROWS_MAX

log = logging.getLogger("glassmq.pipeline")

#: Runs at a time: each has a Java process.
RUNNING_MAX = 2
#: Runs that are kept, and how many of the last ended ones are sent whole without being requested.
KEPT_MAX = 16
WHOLE_MAX = 3
#: The nice(1) value: where both want the same core the broker gets three quarters of it. With much less than a quarter
#: left, Spark's Python workers are not ready within the 10 s that it gives them, and the job fails.
NICENESS = 5
#: Memory of a run's Java; Python's workers come on top of it.
JAVA_MEMORY = "1g"
#: Seconds: a stop takes less than 5 s, and so does the end of the server.
CLOSE_LIMIT_S = 5.0
#: Logs of former servers that are kept.
_LOGS_KEPT = 20
#: Packages that a run needs apart from this project.
_PACKAGES = ("pyspark", "pyarrow", "numpy", "pandas")

_COMMAND = (sys.executable, "-m", "app.command_line", "pipeline")
_ROOT = Path(__file__).resolve().parents[2]


class SparkPackageMissing(Exception):
    """A package that runs need is not installed."""


class TooManyRuns(Exception):
    """The maximum number of runs is reached."""


class UnknownRun(Exception):
    """There is no run of that id, or no longer."""


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """The cluster that the runs read, and how they are started.

    :ivar folder: for logs, Spark's temporary files and what jobs write: ``<data>/pipeline``.
    :ivar name_server: ``host:port``.
    :ivar connection_options: options of ``glassmq pipeline`` for the encryption of connections.
    :ivar asks_for_keys: whether the broker requires access keys.
    :ivar command: the command that is run, up to the name of the job.
    :ivar niceness: see :data:`NICENESS`.
    """

    folder: Path
    name_server: str
    master: str = "local[2]"
    connection_options: tuple[str, ...] = ()
    asks_for_keys: bool = False
    command: tuple[str, ...] = _COMMAND
    niceness: int = NICENESS


@dataclass(frozen=True, slots=True)
class BrokerCredentials:
    """The credentials, where the broker requires them."""

    access_key: str
    secret_key: str = field(repr=False)


class PipelineHost:
    """The runs of this server. Used by web threads. ``clock_us``: microseconds since 1970."""

    def __init__(
        self, settings: PipelineSettings, clock_us: Callable[[], int] = lambda: time.time_ns() // 1_000
    ) -> None:
        self.settings = settings
        self._clock_us = clock_us
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._is_closed = False
        shutil.rmtree(self._work_folder, ignore_errors=True)  # of a server that was killed
        _delete_old_logs(self._log_folder)

    @property
    def _work_folder(self) -> Path:
        return self.settings.folder / "work"

    @property
    def _log_folder(self) -> Path:
        return self.settings.folder / "logs"

    # ------------------------------------------------------------------------------------------------ start and stop

    def start(
        self,
        job: str,
        arguments: Mapping[str, object],
        keys: BrokerCredentials | None = None,
        *,
        origin: str | None = None,
    ) -> str:
        """Start a run, and return its id. Folders among the arguments are used as they are. ``origin``: the page it
        comes from.

        Raises :class:`SparkPackageMissing`, :class:`TooManyRuns`, ``UnknownJob``, ``ArgumentRefused``.
        """
        description = describe(job)
        checked = read_arguments(description, arguments)
        if missing := missing_package():
            raise SparkPackageMissing(missing)
        run_id = secrets.token_hex(6)
        record = RunRecord(run_id, description, checked, self.settings.master, self._clock_us(), origin)
        log_file = self._log_folder / f"{job}-{run_id}.log"
        record.log_file = str(log_file)
        work_folder = self._work_folder / run_id
        work_folder.mkdir(parents=True, exist_ok=True)
        command = [*self._command(job, checked), f"--log-file={log_file}", f"--work-folder={work_folder}"]
        run = _Run(record, work_folder)
        with self._lock:
            try:
                if self._is_closed or sum(not one.record.phase.is_over for one in self._runs.values()) >= RUNNING_MAX:
                    raise TooManyRuns
                # Its events wait for the lock.
                run.child = ChildProcess(
                    command, _environment(keys), lambda line: self._hear(run, line), lambda code: self._end(run, code)
                )
            except BaseException:
                shutil.rmtree(work_folder, ignore_errors=True)
                raise
            self._runs[run_id] = run
            self._forget_old()
        return run_id

    def _command(self, job: str, arguments: Mapping[str, Argument]) -> list[str]:
        options = [
            *(
                "--json",
                f"--max-rows={ROWS_MAX}",
                "--ends-with-stdin",
                f"--niceness={self.settings.niceness}",
                f"--master={self.settings.master}",
            ),
            *(f"--conf=spark.driver.memory={JAVA_MEMORY}", f"--name-server={self.settings.name_server}"),
            *self.settings.connection_options,
        ]
        for name, value in arguments.items():
            dashed = name.replace("_", "-")
            if isinstance(value, bool):
                options.append(f"--{dashed}" if value else f"--no-{dashed}")
            elif value is not None:
                options.append(f"--{dashed}={value}")
        return [*self.settings.command, job, *options]

    def stop(self, run_id: str) -> None:
        """Ask a run to end; within 5 s nothing is left of it. A run that is over stays as it is.

        Raises :class:`UnknownRun`.
        """
        with self._lock:
            run = self._find(run_id)
            if run.record.phase in (RunPhase.STARTING, RunPhase.RUNNING):
                run.record.move(RunPhase.STOPPING, self._clock_us())
            child = run.child
        if child is not None:
            child.stop()

    def close(self) -> None:
        """Stop all runs and wait until they are gone."""
        with self._lock:
            self._is_closed = True
            runs = list(self._runs.items())
        for run_id, _ in runs:
            self.stop(run_id)
        ends_at = time.monotonic() + CLOSE_LIMIT_S
        for _, run in runs:
            if run.child is not None:
                run.child.wait(max(0.0, ends_at - time.monotonic()))

    # --------------------------------------------------------------------------------------------- reports of runs

    def state(self, run_id: str) -> WholeRun:
        """Return everything that a run has reported. Raises :class:`UnknownRun`."""
        with self._lock:
            return self._find(run_id).record.whole()

    def runs(self) -> list[ShownRun]:
        """Return every run, newest first; running ones and the last few whole, the others in short."""
        with self._lock:
            newest = list(reversed(self._runs.values()))
            over = [run for run in newest if run.record.phase.is_over]
            in_short = {run.record.run_id for run in over[WHOLE_MAX:]}
            return [run.record.summary() if run.record.run_id in in_short else run.record.whole() for run in newest]

    def reached_offsets(self) -> list[tuple[str, str, QueueOffsets]]:
        """Return (run id, job, next offsets) of every run that has not ended."""
        with self._lock:
            return [
                (run.record.run_id, run.record.job, run.record.reached)
                for run in self._runs.values()
                if run.record.phase is RunPhase.RUNNING and run.record.reached
            ]

    def process_id(self, run_id: str) -> int | None:
        """Return the process id of a run, which is also its session id. Raises :class:`UnknownRun`."""
        with self._lock:
            child = self._find(run_id).child
            return None if child is None else child.pid

    def _find(self, run_id: str) -> _Run:
        run = self._runs.get(run_id)
        if run is None:
            raise UnknownRun
        return run

    def _hear(self, run: _Run, line: bytes) -> None:
        event = _parse(line)
        with self._lock:
            record = run.record
            if event is None:
                record.dropped += 1
                return
            match event.get("event"):
                case "starting" | "phase":
                    pass  # the page shows where a run is by what it has reported
                case "running":
                    if record.phase is RunPhase.STARTING:
                        record.move(RunPhase.RUNNING, self._clock_us())
                case "ended" | "stopped" as word:
                    run.last_word = RunPhase(word)
                case "failed":
                    run.last_word = RunPhase.FAILED
                    record.fail(event)
                case _:
                    record.apply(event)

    def _end(self, run: _Run, code: int) -> None:
        shutil.rmtree(run.work_folder, ignore_errors=True)
        with self._lock:
            record = run.record
            last = run.last_word
            if record.phase is RunPhase.STOPPING and last is not RunPhase.ENDED:
                last = RunPhase.STOPPED
                record.forgive()
            elif last is None:
                last = RunPhase.FAILED
                key = "pipeline.killed" if code < 0 else "pipeline.ended_silently"
                text = in_all_languages(key, code=abs(code))
                record.fail({"error": text["en"], "text": text})
            record.move(last, self._clock_us())
        log.info("the job %s of the pipeline %s", record.job, record.phase.value)

    def _forget_old(self) -> None:
        while len(self._runs) > KEPT_MAX:
            oldest = next(run_id for run_id, run in self._runs.items() if run.record.phase.is_over)
            log_file = self._runs.pop(oldest).record.log_file
            if log_file is not None:
                Path(log_file).unlink(missing_ok=True)


@dataclass(slots=True)
class _Run:
    record: RunRecord
    work_folder: Path
    child: ChildProcess | None = None
    #: The final state that the job itself reported; it counts once its process is gone.
    last_word: RunPhase | None = None


def missing_package() -> str | None:
    """Return the first package that runs need and that is not installed."""
    return next((name for name in _PACKAGES if importlib.util.find_spec(name) is None), None)


def _environment(keys: BrokerCredentials | None) -> dict[str, str]:
    """Return the environment of a run's process.

    Keys are passed in it: command lines are visible to all users of a machine.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GLASSMQ_")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    if keys is not None:
        environment |= {"GLASSMQ_ACCESS_KEY": keys.access_key, "GLASSMQ_SECRET_KEY": keys.secret_key}
    return environment


def _parse(line: bytes) -> JsonObject | None:
    try:
        # The standard library's NaN and infinities are not JSON; a page could not parse them.
        event = json.loads(line, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _delete_old_logs(folder: Path) -> None:
    logs = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in logs[_LOGS_KEPT:]:
        old.unlink(missing_ok=True)
