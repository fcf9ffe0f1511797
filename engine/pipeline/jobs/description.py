"""What a job tells about itself before it runs: parameters, tables, plots. Needs no Spark, so pages and help are quick.

Texts that a user sees stand in the catalogue (:mod:`engine.texts`) under the name of what they are about, unless it has
a ``text`` of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from engine.texts import Text

Texts = Mapping[str, str]

#: Bounds of parameters: of durations; of what one micro-batch holds in memory; of all other counts, exact in JSON.
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
BATCH_MAX_MESSAGES = 10_000_000
NUMBER_MAX = (1 << 53) - 1


class ParameterKind(StrEnum):
    """How a parameter is typed in, checked and offered."""

    TOPIC = "topic"  # one topic's name
    TOPICS = "topics"  # names joined by commas
    GROUP = "group"  # a consumer or producer group
    GROUPS = "groups"  # joined by commas, each "group" or "group@topic"
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
    :ivar unless: it must be given where this other parameter is not.
    :ivar minimum, maximum: of an integer or a duration; every one has both.
    :ivar choices: what a CHOICE may be.
    """

    name: str
    kind: ParameterKind
    default: str | int | bool | None = None
    required: bool = False
    unless: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    text: Texts | None = None

    @property
    def help(self) -> Texts:
        """A sentence or two."""
        return self.text or Text(f"job.parameter.{self.name}")


class ColumnKind(StrEnum):
    """How the values of a column are written and aligned."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    SHARE = "share"  # 0 to 1, shown as per cent
    MILLISECONDS = "ms"  # a length of time
    TIMESTAMP = "timestamp"  # an instant: milliseconds since 1970
    YES_NO = "yes_no"  # a boolean
    LINK = "link"  # an address; a path leads to this page's server


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of a result table.

    :ivar cell_texts: of a TEXT column whose cells are words of the job's own: cell -> what is shown for it. Rows are
        told with the cells, which stay the same in all languages; a cell that is not here is shown as it is.
    """

    name: str
    kind: ColumnKind
    cell_texts: Mapping[str, Texts] = field(default_factory=dict)
    text: Texts | None = None

    @property
    def title(self) -> Texts:
        """Its heading."""
        return self.text or Text(f"job.column.{self.name}")


def columns(kind: ColumnKind, *names: str) -> tuple[TableColumn, ...]:
    """Several of one kind, side by side."""
    return tuple(TableColumn(name, kind) for name in names)


def cell_texts(*cells: str, room: str = "job.cell.") -> Mapping[str, Texts]:
    """For :class:`TableColumn`: cell -> its text, which stands in the catalogue under ``room`` and the cell."""
    return {cell: Text(f"{room}{cell}") for cell in cells}


@dataclass(frozen=True, slots=True)
class JobTable:
    """A result that a job shows; each report of it replaces the one before.

    :ivar bad_column: name of an integer column whose rows are findings where it is above 0 (marked on the page).
    """

    name: str
    columns: tuple[TableColumn, ...]
    bad_column: str | None = None
    text: Texts | None = None

    @property
    def title(self) -> Texts:
        """What it shows."""
        return self.text or Text(f"job.table.{self.name}")


@dataclass(frozen=True, slots=True)
class JobPlot:
    """Numbers over time, or over another whole number (``x_title``), one line per series.

    :ivar series_texts: as :attr:`TableColumn.cell_texts`, of the series' names.
    """

    name: str
    unit: str
    x_title: Texts | None = None  # None: x is an instant in milliseconds
    series_texts: Mapping[str, Texts] = field(default_factory=dict)
    text: Texts | None = None

    @property
    def title(self) -> Texts:
        """What it shows."""
        return self.text or Text(f"job.plot.{self.name}")


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


# --- parameters that several jobs have -------------------------------------------------------------------------------

TOPICS = JobParameter("topics", ParameterKind.TOPICS, required=True)
STARTING_OFFSETS = JobParameter(
    "starting_offsets", ParameterKind.TEXT, default="earliest", text=Text("job.parameter.starting_offsets_or_json")
)
#: For jobs that cannot begin in the middle of a queue.
STARTING_END = JobParameter(
    "starting_offsets", ParameterKind.CHOICE, default="earliest", choices=("earliest", "latest")
)
#: For jobs whose stream does the same as their one look at what is there.
FOLLOW = JobParameter("follow", ParameterKind.SWITCH, default=False)
CHECKPOINT_FOLDER = JobParameter("checkpoint_folder", ParameterKind.FOLDER)


def trigger_ms(default: int) -> JobParameter:
    """How often a job looks."""
    return JobParameter("trigger_ms", ParameterKind.DURATION, default=default, minimum=100, maximum=HOUR_MS)
