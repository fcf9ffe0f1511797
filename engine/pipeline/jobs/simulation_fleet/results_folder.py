"""A folder with the finished portions of a sweep, so that it can be stopped at any point and continued later.

``fleet.jsonl`` has one line that says what was run, and one line per finished portion. A line is appended in one write
and flushed to disk; one that a crash has cut short has no line end and is removed when the file is opened.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

from engine.lab.sweep.seed_chunk import SeedRange, SeedTask
from engine.lab.sweep.sweep_summary import SweepSummary
from engine.pipeline.errors import JobFailed
from engine.pipeline.shipping import engine_digest
from engine.texts import Text

FILE_NAME = "fleet.jsonl"
_FORMAT = "glassmq-simulation-fleet"
_VERSION = 1
#: Fields of the first line that must agree; ``job.results.FIELD`` describes the difference.
_FIELD_NAMES = ("scenario", "text", "faults", "engine", "python", "version")


class ResultsFolder:
    """A results folder, opened for one run at a time; use it in a ``with`` statement. Raises
    :class:`~engine.pipeline.errors.JobFailed`.

    :ivar done: the finished portions, in the order of their seeds.
    :ivar summary: summary of all of them.
    """

    def __init__(self, folder: Path, task: SeedTask, python: str) -> None:
        self.done: list[SeedRange] = []
        self.summary = SweepSummary()
        self._path = folder / FILE_NAME
        header = _header(task, python)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self._path.open("a+b")
        except OSError as error:
            raise JobFailed(Text("job.error.cannot_hold_results", folder=folder, problem=error.strerror)) from None
        try:
            # The system releases the lock when this process dies, however it dies.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read(header)
        except BaseException as error:
            self._file.close()
            if isinstance(error, BlockingIOError):
                raise JobFailed(Text("job.error.results_in_use", path=self._path)) from None
            raise

    def append(self, seeds: SeedRange, summary: SweepSummary) -> None:
        """Append a finished portion."""
        self._write({"first_seed": seeds.first, "seeds": seeds.size, "summary": summary.to_dict()})
        self._take(seeds, summary)

    def close(self) -> None:
        """Close the folder; another run may open it now."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- file --------------------------------------------------------------------------------------------------------

    def _read(self, header: Mapping[str, Any]) -> None:
        self._file.seek(0)
        whole_bytes = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                # A file of this program begins with this header; any other file belongs to someone else and is kept.
                if number == 1 and not _line(header).startswith(line):
                    raise self._is_foreign()
                break
            try:
                self._read_line(number, json.loads(line), header)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise JobFailed(Text("job.error.no_result", path=self._path, number=number, error=error)) from None
            whole_bytes += len(line)
        self._file.truncate(whole_bytes)
        self._file.seek(0, os.SEEK_END)
        self.done.sort()
        for before, after in itertools.pairwise(self.done):
            if after.first < before.end:
                raise JobFailed(Text("job.error.seed_twice", path=self._path, seed=after.first))
        if whole_bytes == 0:
            self._write(header)

    def _read_line(self, number: int, fields: Mapping[str, Any], header: Mapping[str, Any]) -> None:
        if number > 1:
            seeds = SeedRange(int(fields["first_seed"]), int(fields["seeds"]))
            self._take(seeds, SweepSummary.from_dict(fields["summary"]))
            return
        if fields.get("format") != _FORMAT:
            raise self._is_foreign()
        for name in _FIELD_NAMES:
            if fields.get(name) != header[name]:
                was, now = (f"{value}" for value in (fields.get(name), header[name]))
                raise JobFailed(
                    Text("job.error.other_results", path=self._path, what=Text(f"job.results.{name}"), was=was, now=now)
                )

    def _is_foreign(self) -> JobFailed:
        return JobFailed(Text("job.error.foreign_results", path=self._path))

    def _write(self, fields: Mapping[str, Any]) -> None:
        try:
            self._file.write(_line(fields))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise JobFailed(Text("job.error.results_unwritable", path=self._path, problem=error.strerror)) from None

    def _take(self, seeds: SeedRange, summary: SweepSummary) -> None:
        self.done.append(seeds)
        self.summary.merge(summary)


def _line(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _header(task: SeedTask, python: str) -> dict[str, Any]:
    # A scenario with other settings is a different one.
    text = task.text + (json.dumps(task.settings) if task.settings else "")
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "scenario": task.scenario,
        "text": hashlib.sha256(text.encode()).hexdigest()[:16],
        "faults": "random" if task.random_faults else "none",
        "engine": engine_digest(),
        "python": python,
    }
