"""The reports of a job at a terminal: progress on one line of stderr, tables on stdout."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

from app.foundation.terminal_text import local_time, table_lines
from engine.pipeline.jobs.description import ColumnKind, JobDescription, JobTable, TableColumn
from engine.pipeline.jobs.report import AnyCell, JobReport

#: Seconds between two lines of progress where stderr is not a terminal.
QUIET_INTERVAL_S = 5.0
#: Seconds between two prints of a stream's tables.
TABLE_INTERVAL_S = 10.0
#: Rows of a table that are printed; the page shows more, and --json all.
ROWS_SHOWN = 40
_CELL_MAX = 60
_SENTENCE_MAX = 240
_LINE_MAX = 100


class TerminalReport(JobReport):
    """Writes a job's reports. ``output`` takes the tables, ``words`` the rest; plots and offsets are for pages."""

    rows_max = ROWS_SHOWN

    def __init__(
        self,
        description: JobDescription,
        output: IO[str],
        words: IO[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tables = {table.name: table for table in description.tables}
        self._output = output
        self._words = words
        self._is_terminal = words.isatty()
        self._clock = clock
        self._lock = threading.Lock()
        self._unprinted: dict[str, tuple[Sequence[Sequence[AnyCell]], int]] = {}
        self._began = self._said_at = self._printed_at = clock()
        #: The progress that was reported last.
        self._work = ""
        self._said = ""

    def progress(self, done: int, total: int | None, unit: str) -> None:
        self._work = f"{done:,} of {total:,} {unit} ({100 * done / total:.0f} %)" if total else f"{done:,} {unit}"
        self._say(self._work)

    def planning(self) -> None:
        self._say(f"planning, {self._clock() - self._began:.0f} s")

    def working(self) -> None:
        self._say(f"{self._work}, {self._clock() - self._began:.0f} s")

    def table(self, name: str, rows: Sequence[Sequence[AnyCell]], *, left_out: int = 0) -> None:
        with self._lock:
            self._unprinted[name] = (list(rows), left_out)

    def batch(self, progress: Mapping[str, Any]) -> None:
        parts = [f"batch {progress.get('batch')}", f"{progress.get('rows') or 0:,} rows"]
        if (rate := progress.get("processed_rows_per_s")) is not None:
            parts.append(f"{rate:,.0f} rows/s")
        if (total_ms := progress.get("total_ms")) is not None:
            parts.append(f"{total_ms} ms")
        if (lag := progress.get("lag")) is not None:
            parts.append(f"{lag:,} behind")
        self._say("  ".join(parts))
        if self._clock() - self._printed_at >= TABLE_INTERVAL_S:
            self.print_tables()

    def note(self, text: Mapping[str, str]) -> None:
        self.line(text["en"])

    def line(self, text: str) -> None:
        """Print a line of its own on stderr."""
        with self._lock:
            self._clear()
            self._write(self._words, text + "\n")

    def print_tables(self) -> None:
        """Print what was reported and not printed yet."""
        with self._lock:
            self._printed_at = self._clock()
            tables, self._unprinted = self._unprinted, {}
            self._clear()
            for name, (rows, left_out) in tables.items():
                if (table := self._tables.get(name)) is not None:
                    self._write(self._output, "\n".join(_table_text(table, rows, left_out)) + "\n")

    def _say(self, text: str) -> None:
        with self._lock:
            now = self._clock()
            if self._is_terminal:
                self._write(self._words, f"\r{text[:_LINE_MAX]:{len(self._said)}}")
                self._said = text[:_LINE_MAX]
            elif now - self._said_at >= QUIET_INTERVAL_S and text != self._said:
                self._said_at, self._said = now, text
                self._write(self._words, text + "\n")

    def _clear(self) -> None:
        if self._is_terminal and self._said:
            self._write(self._words, f"\r{'':{len(self._said)}}\r")
            self._said = ""

    @staticmethod
    def _write(stream: IO[str], text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:  # the reader (head, less) is gone; the job goes on
            pass


def _table_text(table: JobTable, rows: Sequence[Sequence[AnyCell]], left_out: int) -> Iterator[str]:
    yield ""
    yield table.title["en"]
    if not rows:
        yield "(no rows)"
        return
    names = [column.name for column in table.columns]
    bad = names.index(table.bad_column) if table.bad_column in names else None
    head = tuple(column.title["en"].upper() for column in table.columns)
    texts = [tuple(_cell(column, cell) for column, cell in zip(table.columns, row, strict=False)) for row in rows]
    if bad is not None:
        head = ("", *head)
        texts = [("!" if is_bad(row, bad) else "", *text) for row, text in zip(rows, texts, strict=True)]
    yield from table_lines(head, texts[:ROWS_SHOWN])
    hidden = left_out + max(0, len(rows) - ROWS_SHOWN)
    if hidden:
        yield f"... and {hidden:,} rows more"


def is_bad(row: Sequence[AnyCell], bad: int) -> bool:
    """Return whether the row is a finding: its number in column ``bad`` is above 0."""
    cell = row[bad] if bad < len(row) else None
    return isinstance(cell, int | float) and cell > 0


def _cell(column: TableColumn, cell: AnyCell) -> object:
    if cell is None:
        return "-"
    match column.kind:
        case ColumnKind.YES_NO:
            return "yes" if cell else "no"
        case ColumnKind.SHARE if isinstance(cell, int | float):
            return f"{100 * cell:.3g} %"
        case ColumnKind.MILLISECONDS if isinstance(cell, int | float):
            return f"{cell:,.0f} ms" if cell >= 100 else f"{cell:.3g} ms"
        case ColumnKind.TIMESTAMP if isinstance(cell, int | float):
            return local_time(int(cell))
        case ColumnKind.NUMBER if isinstance(cell, float):
            return f"{cell:,.1f}" if abs(cell) >= 100 else f"{cell:.3g}"
        case _ if isinstance(cell, Mapping):
            return _plain(cell["en"], _SENTENCE_MAX)
        case ColumnKind.LINK:
            return _printable(str(cell))  # half a link leads nowhere
        case _:
            return cell if isinstance(cell, int) else _plain(column.cell_texts.get(str(cell), {"en": str(cell)})["en"])


def _plain(text: str, length_max: int = _CELL_MAX) -> str:
    plain = _printable(text)
    return plain if len(plain) <= length_max else plain[: length_max - 1] + "…"


def _printable(text: str) -> str:
    """Return text without the characters that a terminal would execute as commands."""
    return "".join(character if character.isprintable() else "·" for character in text)
