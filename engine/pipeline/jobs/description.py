"""What a job tells about itself before it runs: parameters, tables, plots. Needs no Spark, so pages and help are quick.

Every text that a user sees is a :data:`Texts`: ``{"en": ..., "zh": ...}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

Texts = Mapping[str, str]


class ParameterKind(StrEnum):
    """How a parameter is typed in, checked and offered."""

    TOPIC = "topic"  # one topic's name
    TOPICS = "topics"  # names joined by commas
    GROUP = "group"  # a consumer or producer group
    TEXT = "text"
    SCENARIO = "scenario"  # of the lab, by its name; the command line takes a file, too
    FOLDER = "folder"  # a path, or a URI of a file system that Spark knows
    INTEGER = "integer"
    DURATION = "duration"  # milliseconds; the command line takes 500ms, 10s, 5min, 2h too
    CHOICE = "choice"
    SWITCH = "switch"  # true or false


@dataclass(frozen=True, slots=True)
class JobParameter:
    """One argument of a job.

    :ivar name: snake_case, units last; ``--name-with-dashes`` on the command line.
    :ivar default: None: must be given if ``required``, else "not said".
    :ivar minimum: of an integer or a duration.
    :ivar choices: what a CHOICE may be.
    """

    name: str
    kind: ParameterKind
    help: Texts
    default: str | int | bool | None = None
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()


class ColumnKind(StrEnum):
    """How the values of a column are written and aligned."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    SHARE = "share"  # 0 to 1, shown as per cent
    MILLISECONDS = "ms"  # a length of time
    TIMESTAMP = "timestamp"  # an instant: milliseconds since 1970
    YES_NO = "yes_no"  # a boolean


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of a result table."""

    name: str
    kind: ColumnKind
    title: Texts


@dataclass(frozen=True, slots=True)
class JobTable:
    """A result that a job shows; each report of it replaces the one before.

    :ivar bad_column: name of an integer column whose rows are findings where it is above 0 (marked on the page).
    """

    name: str
    title: Texts
    columns: tuple[TableColumn, ...]
    bad_column: str | None = None


@dataclass(frozen=True, slots=True)
class JobPlot:
    """Numbers over time, or over another whole number (``x_title``), one line per series."""

    name: str
    title: Texts
    unit: str
    x_title: Texts | None = None  # None: x is an instant in milliseconds


@dataclass(frozen=True, slots=True)
class JobDescription:
    """A job, before it runs.

    :ivar name: as in ``glassmq pipeline NAME``.
    :ivar about: what it answers, in two or three sentences.
    :ivar runs_until_stopped: whether it goes on with what is stored later (True), ends by itself (False), or its
        parameter ``follow`` decides (None).
    """

    name: str
    title: Texts
    about: Texts
    parameters: tuple[JobParameter, ...]
    tables: tuple[JobTable, ...] = ()
    plots: tuple[JobPlot, ...] = ()
    runs_until_stopped: bool | None = False


#: For jobs whose stream does the same as their one look at what is there.
FOLLOW = JobParameter(
    "follow",
    ParameterKind.SWITCH,
    {"en": "Go on with what comes, until stopped.", "zh": "继续处理新到的消息，直到停止。"},
    default=False,
)
