"""The steps of lessons that a browser has done, and its predictions, in SQLite in the data folder.

No account and no name: a row belongs to the random cookie of :mod:`app.lab.foundation.browser_identity`. When the table
is full the browser that did something longest ago is forgotten.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.picture.pages.lesson import MadePrediction

log = logging.getLogger("glassmq.http")

FILE_NAME = "lessons.db"
#: Rows of all browsers together: some 1,000 browsers that have done all steps of all lessons.
ROWS_MAX = 50_000
_TABLE = "steps_done"
_COLUMNS = (
    "browser text, lesson text, step text, done_at float, prediction text, was_right integer, "
    "primary key (browser, lesson, step)"
)


@dataclass(frozen=True, slots=True)
class DoneStep:
    """A done step. ``prediction`` is empty, and ``was_right`` None, where none was made."""

    step: str
    prediction: str = ""
    was_right: bool | None = None

    def as_json(self) -> MadePrediction:
        return {"prediction": self.prediction, "right": self.was_right}


@dataclass(frozen=True, slots=True)
class LessonStepDone:
    """A done step with its lesson. ``done_at``: seconds since 1970."""

    lesson: str
    done_at: float
    done: DoneStep


class LearnerProgress:
    """The progress of all browsers, for all threads. ``file`` None: kept in memory only."""

    def __init__(self, file: Path | None, clock: Callable[[], float] = time.time, *, rows_max: int = ROWS_MAX) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._rows_max = rows_max
        self._connection = _open(file)

    def done(self, browser: str | None, lesson: str) -> dict[str, DoneStep]:
        """Return the done steps by id, in the order in which they were done."""
        if browser is None:
            return {}
        return {each.done.step: each.done for each in self._done("browser = ? and lesson = ?", browser, lesson)}

    def all_done(self, browser: str | None) -> list[LessonStepDone]:
        """Return the done steps of all lessons, in the order in which they were done."""
        return [] if browser is None else self._done("browser = ?", browser)

    def _done(self, condition: str, *values: str) -> list[LessonStepDone]:
        query = f"select lesson, done_at, step, prediction, was_right from {_TABLE} where {condition} order by rowid"
        with self._lock:
            rows = self._connection.execute(query, values).fetchall()
        return [
            LessonStepDone(lesson, done_at, DoneStep(step, prediction, None if right is None else bool(right)))
            for lesson, done_at, step, prediction, right in rows
        ]

    def note(self, browser: str, lesson: str, done: DoneStep, done_at: float | None = None) -> None:
        """Store a done step. Only the first prediction counts, because a learner who repeats a step knows the answer.

        ``done_at``: seconds since 1970; None: now. A disk error ends no lesson: it is logged.
        """
        try:
            self._note(browser, lesson, done, self._clock() if done_at is None else done_at)
        except sqlite3.Error as error:
            log.warning("the progress of a lesson could not be kept: %s", error)

    def _note(self, browser: str, lesson: str, done: DoneStep, done_at: float) -> None:
        with self._lock, self._connection as connection:
            connection.execute(
                f"insert into {_TABLE} (browser, lesson, step, done_at, prediction, was_right) "
                "values (?, ?, ?, ?, ?, ?) on conflict (browser, lesson, step) do update set "
                "done_at = excluded.done_at, "
                "prediction = case when was_right is null then excluded.prediction else prediction end, "
                "was_right = coalesce(was_right, excluded.was_right)",
                (browser, lesson, done.step, done_at, done.prediction, done.was_right),
            )
            self._make_room(connection)

    def reset(self, browser: str, lesson: str) -> None:
        """Forget what a browser did in a lesson."""
        with self._lock, self._connection as connection:
            connection.execute(f"delete from {_TABLE} where browser = ? and lesson = ?", (browser, lesson))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _make_room(self, connection: sqlite3.Connection) -> None:
        while connection.execute(f"select count(*) from {_TABLE}").fetchone()[0] > self._rows_max:
            connection.execute(
                f"delete from {_TABLE} where browser = "
                f"(select browser from {_TABLE} group by browser order by max(done_at) limit 1)"
            )


def _open(file: Path | None) -> sqlite3.Connection:
    """Open the database with its table.

    A database that cannot be used is left alone: progress is then kept in memory.
    """
    if file is not None:
        try:
            return _connect(file)
        except (sqlite3.Error, OSError) as error:
            log.warning("progress of lessons is not kept: %s cannot be used (%s)", file, error)
    return _connect(":memory:")


def _connect(place: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(place, check_same_thread=False)
    try:
        with connection:
            connection.execute(f"create table if not exists {_TABLE} ({_COLUMNS})")
    except BaseException:
        connection.close()
        raise
    return connection
