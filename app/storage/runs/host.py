"""The runs that pages start: one at a time for the whole server, so that none disturbs another's measurement.

Each is a process of its own at low priority. The last run of each kind is kept, for every page.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path

from app.foundation.json_types import JsonObject, JsonValue
from app.foundation.worker_process import WorkerProcess
from app.picture.pages.storage import StorageRun
from app.storage.progress import ProgressStep
from app.storage.runs.report import Work
from engine.runtime.state_table import successor

log = logging.getLogger("glassmq.storage")

#: Seconds that an ended process may take to exit.
_CLOSE_S = 5.0


class MeasurementPhase(StrEnum):
    """The phase of a run."""

    NONE = "none"
    RUNNING = "running"
    ENDED = "ended"
    CANCELLED = "cancelled"
    FAILED = "failed"


#: Phase -> the phases that may follow. ``none`` belongs to a kind that has had no run; each run begins as ``running``.
_NEXT: dict[MeasurementPhase, tuple[MeasurementPhase, ...]] = {
    MeasurementPhase.RUNNING: (MeasurementPhase.ENDED, MeasurementPhase.CANCELLED, MeasurementPhase.FAILED),
}


class RunUnderWay(Exception):
    """Another run is using the machine."""


@dataclass(slots=True)
class _Run:
    phase: MeasurementPhase = MeasurementPhase.NONE
    number: int = 0
    total: int = 1
    report: dict[str, JsonValue] | None = None
    error: str | None = None
    worker: WorkerProcess | None = None
    listener: threading.Thread | None = None

    def move(self, phase: MeasurementPhase) -> None:
        self.phase = successor(_NEXT, self.phase, phase, "a run")


class StorageRuns:
    """The runs of all pages. Used by web threads."""

    def __init__(self, works: Mapping[str, Work]) -> None:
        self._works = works
        self._lock = threading.Lock()
        self._runs = {kind: _Run() for kind in works}
        self._is_closed = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of runs that may be started."""
        return tuple(self._works)

    def state(self, kind: str) -> StorageRun:
        """Return the progress of the last run of that kind, and its report; the former report until then."""
        with self._lock:
            run = self._runs[kind]
            return {
                "phase": run.phase.value,
                "number": run.number,
                "total": run.total,
                "report": run.report,
                "error": run.error,
            }

    def start(self, kind: str) -> None:
        """Start a run. Raises :class:`RunUnderWay`; ``OSError`` and ``RuntimeError`` where the machine has no room for
        its folder, its process or a thread: nothing is left of it then.
        """
        with self._lock:
            if self._is_closed or any(run.phase is MeasurementPhase.RUNNING for run in self._runs.values()):
                raise RunUnderWay
            name, run = f"storage-{kind}", _Run(MeasurementPhase.RUNNING, report=self._runs[kind].report)
            with contextlib.ExitStack() as undo:
                folder = Path(tempfile.mkdtemp(prefix="glassmq-storage-"))
                undo.callback(shutil.rmtree, folder, ignore_errors=True)
                run.worker = WorkerProcess(name, _work, self._works[kind], folder)
                undo.callback(run.worker.close)
                run.listener = threading.Thread(
                    target=self._listen, args=(run, run.worker, folder), name=name, daemon=True
                )
                run.listener.start()
                undo.pop_all()
            # Only now: a run without a process would be under way forever.
            self._runs[kind] = run

    def cancel(self, kind: str) -> None:
        """End the run that is under way; a run that is over stays as it is."""
        with self._lock:
            self._cancel(self._runs[kind])

    def close(self) -> None:
        """End the run that is under way; none can be started any more."""
        with self._lock:
            self._is_closed = True
            runs = list(self._runs.values())
            for run in runs:
                self._cancel(run)
        for run in runs:
            if run.listener is not None:
                run.listener.join(_CLOSE_S)

    def _cancel(self, run: _Run) -> None:
        if run.phase is MeasurementPhase.RUNNING and run.worker is not None:
            run.move(MeasurementPhase.CANCELLED)
            run.worker.terminate()

    def _listen(self, run: _Run, worker: WorkerProcess, folder: Path) -> None:
        try:
            while True:
                self._hear(run, worker.receiver.recv())
        except (EOFError, OSError):
            worker.close()
        # Here, because a process that is ended removes nothing.
        shutil.rmtree(folder, ignore_errors=True)
        with self._lock:
            if run.phase is MeasurementPhase.RUNNING:
                run.move(MeasurementPhase.FAILED)
                run.error = run.error or "the process ended"

    def _hear(self, run: _Run, reported: JsonObject) -> None:
        with self._lock:
            if "error" in reported:
                run.error = reported["error"]
            elif "report" in reported and run.phase is MeasurementPhase.RUNNING:
                run.move(MeasurementPhase.ENDED)
                run.report = reported["report"]
            elif "number" in reported:
                run.number, run.total = reported["number"], reported["total"]


def _work(sender: Connection, work: Work, folder: Path) -> None:
    """Do the work, in the process of the run."""

    def report(step: ProgressStep) -> None:
        sender.send({"number": step.number, "total": step.total})

    try:
        sender.send({"report": asdict(work(folder, report))})
    except Exception as error:
        log.exception("a storage run failed")
        sender.send({"error": f"{type(error).__name__}: {error}"})
