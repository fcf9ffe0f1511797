"""The bounded record of what one run has reported so far.

Events come from another process and are treated as data that may be wrong. Unusable ones are left out and counted.
Values are replaced, never changed, so that readers need no copies and the stream finds differences fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from app.foundation.json_types import JsonObject
from app.picture.pages.pipeline import (
    MicroBatch,
    PipelineRun,
    QueueOffsets,
    ResultCell,
    ResultRows,
    RunFailure,
    RunInShort,
    RunProgress,
    WholeRun,
)
from app.picture.world.world import Words
from app.pipeline.run_phase import RunPhase, follow
from engine.pipeline.jobs.arguments import Argument
from engine.pipeline.jobs.description import ColumnKind, JobDescription, TableColumn
from engine.pipeline.jobs.report import ROWS_MAX
from engine.texts import LANGUAGES

#: Points that are kept of one line of a plot, and lines of one plot.
POINTS_MAX = 400
SERIES_MAX = 12
#: Micro-batches and notes that are kept, and kinds of progress.
BATCHES_MAX = 240
NOTES_MAX = 50
UNITS_MAX = 8
#: Queues whose offsets are kept.
QUEUES_MAX = 1_024
#: Characters of one text.
TEXT_MAX = 1_000
#: Characters of a run's error.
ERROR_MAX = 2_000
_NUMBER_MAX = 2**53
_EPOCH = datetime.fromtimestamp(0, UTC)


class Unusable(Exception):
    """An event has nothing that could be shown."""


class RunRecord:
    """The record of one run of a job. Not thread-safe: the host's lock guards it.

    :param origin: path and fragment of the page that started it, if not ``/pipeline``.
    :ivar dropped: events that were left out.
    """

    def __init__(
        self,
        run_id: str,
        description: JobDescription,
        arguments: dict[str, Argument],
        master: str,
        now_us: int,
        origin: str | None = None,
    ) -> None:
        self.run_id = run_id
        self.job = description.name
        self.phase = RunPhase.STARTING
        self.dropped = 0
        self.error: str | None = None
        self._failure: RunFailure | None = None
        self.log_file: str | None = None
        self._tables = {table.name: table.columns for table in description.tables}
        #: Name -> whether x is a point in time: in milliseconds in the job's events.
        self._plots = {plot.name: plot.x_title is None for plot in description.plots}
        self._arguments = dict(arguments)
        self._master = master
        self._started_us = now_us
        self._origin = origin
        self._running_us: int | None = None
        self._ended_us: int | None = None
        self.reached: QueueOffsets = {}
        self._latest: QueueOffsets = {}
        self._progress: dict[str, RunProgress] = {}
        self._shown_tables: dict[str, ResultRows] = {}
        self._shown_plots: dict[str, dict[str, list[list[float]]]] = {}
        self._batches: list[MicroBatch] = []
        self._batch_count = 0
        self._row_count = 0
        self._notes: list[Words] = []

    # ------------------------------------------------------------------------------------------------ events

    def move(self, phase: RunPhase, now_us: int) -> None:
        """Change the phase of the run. Raises :class:`~engine.runtime.state_table.IllegalStateChange`."""
        self.phase = follow(self.phase, phase)
        if phase is RunPhase.RUNNING:
            self._running_us = now_us
        if phase.is_over:
            self._ended_us = now_us

    def fail(self, event: JsonObject) -> None:
        """Note that it cannot continue. ``error``: one complete English line; ``text``: a sentence in all languages,
        and ``detail``: the English detail that goes with it.
        """
        self.error = str(event.get("error"))[:ERROR_MAX]
        text, detail = event.get("text"), event.get("detail")
        if not isinstance(text, dict):
            text = {}
        self._failure = {
            "text": {language: str(text.get(language, self.error))[:ERROR_MAX] for language in LANGUAGES},
            "detail": str(detail)[:ERROR_MAX] if detail is not None else None,
        }

    def forgive(self) -> None:
        """Drop the error of a run that was stopped."""
        self.error = self._failure = None

    def apply(self, event: JsonObject) -> None:
        """Take in one event of the job; unusable ones are counted."""
        handler = _HANDLERS.get(str(event.get("event")))
        try:
            if handler is None:
                raise Unusable("an event of no known kind")
            handler(self, event)
        except Unusable:
            self.dropped += 1

    def _on_progress(self, event: JsonObject) -> None:
        done, total = _whole(event.get("done")), event.get("total")
        unit = _short(event.get("unit"))
        if unit not in self._progress and len(self._progress) >= UNITS_MAX:
            raise Unusable("too many units")
        self._progress = {
            **self._progress,
            unit: {"done": done, "total": None if total is None else _whole(total)},
        }

    def _on_table(self, event: JsonObject) -> None:
        name, rows = _short(event.get("name")), event.get("rows")
        if name not in self._tables or not isinstance(rows, list):
            raise Unusable("no such table")
        columns = self._tables[name]
        kept = [_row(row, columns) for row in rows[:ROWS_MAX]]
        left_out = _whole(event.get("left_out", 0)) + max(0, len(rows) - ROWS_MAX)
        self._shown_tables = {**self._shown_tables, name: {"rows": kept, "left_out": left_out}}

    def _on_point(self, event: JsonObject) -> None:
        plot, series = _short(event.get("plot")), _short(event.get("series"))
        if plot not in self._plots:
            raise Unusable("no such plot")
        lines = self._shown_plots.get(plot, {})
        if series not in lines and len(lines) >= SERIES_MAX:
            raise Unusable("too many lines")
        x = _number(event.get("x"))
        point = [_number(x * 1_000) if self._plots[plot] else x, _number(event.get("y"))]
        points = [*lines.get(series, [])[1 - POINTS_MAX :], point]
        self._shown_plots = {**self._shown_plots, plot: {**lines, series: points}}

    def _on_offsets(self, event: JsonObject) -> None:
        self.reached = _queue_offsets(event.get("reached"))
        latest = event.get("latest")
        if latest is not None:
            self._latest = _queue_offsets(latest)

    def _on_batch(self, event: JsonObject) -> None:
        figures: MicroBatch = {
            "n": self._batch_count + 1,
            "at_us": _unix_us(_short(event["at"])) if event.get("at") else None,
            "query": event.get("query") and _short(event["query"]),
            "batch": _figure(event, "batch"),
            "rows": _figure(event, "rows"),
            "input_rows_per_s": _figure(event, "input_rows_per_s"),
            "processed_rows_per_s": _figure(event, "processed_rows_per_s"),
            "total_ms": _figure(event, "total_ms"),
            "lag": _figure(event, "lag"),
        }
        durations = event.get("durations_ms")
        if isinstance(durations, dict):
            figures["durations_ms"] = {_short(part): _number(ms) for part, ms in list(durations.items())[:16]}
        self._batch_count += 1
        self._row_count += int(figures["rows"] or 0)
        self._batches = [*self._batches[1 - BATCHES_MAX :], figures]

    def _on_note(self, event: JsonObject) -> None:
        text = event.get("text")
        if not isinstance(text, dict):
            raise Unusable("a note without text")
        note = {language: _short(text.get(language)) for language in ("en", "zh")}
        self._notes = [*self._notes[1 - NOTES_MAX :], note]

    # -------------------------------------------------------------------------------------------------- view

    def _facts(self) -> PipelineRun:
        return {
            "id": self.run_id,
            "job": self.job,
            "arguments": self._arguments,
            "master": self._master,
            "started_us": self._started_us,
            "origin": self._origin,
            "phase": self.phase.value,
            "running_us": self._running_us,
            "ended_us": self._ended_us,
            "error": self.error,
            "failure": self._failure,
            "log_file": self.log_file,
            "batch_count": self._batch_count,
            "row_count": self._row_count,
        }

    def summary(self) -> RunInShort:
        """Return the fields of the run that the list of runs shows."""
        return {**self._facts(), "is_whole": False}

    def whole(self) -> WholeRun:
        """Return everything."""
        return {
            **self._facts(),
            "is_whole": True,
            "dropped": self.dropped,
            "progress": self._progress,
            "tables": self._shown_tables,
            "plots": self._shown_plots,
            "batches": self._batches,
            "notes": self._notes,
            "reached": self.reached,
            "latest": self._latest,
        }


_HANDLERS: dict[str, Callable[[RunRecord, JsonObject], None]] = {
    "progress": RunRecord._on_progress,
    "table": RunRecord._on_table,
    "point": RunRecord._on_point,
    "offsets": RunRecord._on_offsets,
    "batch": RunRecord._on_batch,
    "note": RunRecord._on_note,
}


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _NUMBER_MAX:
        raise Unusable("no whole number")
    return value


def _number(value: object) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_NUMBER_MAX <= value <= _NUMBER_MAX:
        raise Unusable("no number")
    return value


def _figure(event: JsonObject, name: str) -> float | None:
    return None if event.get(name) is None else _number(event[name])


def _unix_us(text: str) -> int:
    """Return the microseconds since 1970 of a point in time in ISO 8601, as Spark writes it."""
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)
    except (TypeError, ValueError):  # TypeError: it has no time zone
        raise Unusable("no point in time") from None


def _short(value: object) -> str:
    if not isinstance(value, str):
        raise Unusable("no text")
    return value[:TEXT_MAX]


def _row(row: Any, columns: Sequence[TableColumn]) -> list[ResultCell]:
    if not isinstance(row, list) or len(row) != len(columns):
        raise Unusable("a row of another width")
    return [_cell(column.kind, cell) for column, cell in zip(columns, row, strict=True)]


def _cell(kind: ColumnKind, cell: object) -> ResultCell:
    if isinstance(cell, str):
        # Half a link leads nowhere.
        return None if kind is ColumnKind.LINK and len(cell) > TEXT_MAX else cell[:TEXT_MAX]
    if cell is None or isinstance(cell, bool | int | float):
        return cell
    if isinstance(cell, dict) and cell.keys() == set(LANGUAGES):
        return {language: _short(text) for language, text in cell.items()}
    raise Unusable("a cell that is not a plain value")


def _queue_offsets(value: object) -> QueueOffsets:
    """Read topic -> "broker:queue id" -> offset."""
    from engine.pipeline.source.cluster.queue_offsets import parse_label  # not where no job runs, as in a browser

    if not isinstance(value, dict):
        raise Unusable("no offsets")
    room = QUEUES_MAX
    offsets: QueueOffsets = {}
    for topic, queues in value.items():
        if not isinstance(queues, dict):
            raise Unusable("no queues")
        brokers = offsets.setdefault(_short(topic), {})
        for label, offset in list(queues.items())[:room]:
            try:
                queue = parse_label(topic, _short(label))
            except ValueError:
                raise Unusable("no queue") from None
            brokers.setdefault(queue.broker_name, {})[str(queue.queue_id)] = _whole(offset)
            room -= 1
    return offsets
