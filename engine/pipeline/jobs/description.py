"""Description of a job before it runs: parameters, tables, plots. It needs no Spark, so pages and help are fast.

Texts for users are in the catalogue (:mod:`engine.texts`) under the name of what they describe, unless it has a
``text`` of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from engine.texts import Text

Texts = Mapping[str, str]

#: Bounds of parameters: of durations; of what one micro-batch holds in memory; of all other counts, exact in JSON.
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
BATCH_MAX_MESSAGES = 10_000_000
NUMBER_MAX = (1 << 53) - 1


class ParameterKind(StrEnum):
    """The input type of a parameter."""

    TOPIC = "topic"  # one topic's name
    TOPICS = "topics"  # names joined by commas
    GROUP = "group"  # a consumer or producer group
    GROUPS = "groups"  # joined by commas, each "group" or "group@topic"
    TEXT = "text"
    SCENARIO = "scenario"  # a scenario's name in the lab; the command line also accepts a file
    FOLDER = "folder"  # a path, or a URI of a file system that Spark knows
    INTEGER = "integer"
    DURATION = "duration"  # milliseconds; the command line also accepts 500ms, 10s, 5min, 2h
    CHOICE = "choice"
    SWITCH = "switch"  # true or false


@dataclass(frozen=True, slots=True)
class JobParameter:
    """One argument of a job.

    :ivar name: snake_case, units last; ``--name-with-dashes`` on the command line.
    :ivar default: None: required if ``required``, otherwise optional.
    :ivar unless: it is required if this other parameter is not given.
    :ivar minimum, maximum: of an integer or a duration; every one has both.
    :ivar choices: the allowed values of a CHOICE.
    :ivar may_be_missing: of TOPICS: a topic that the cluster does not have is no error.
    """

    name: str
    kind: ParameterKind
    default: str | int | bool | None = None
    required: bool = False
    unless: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    may_be_missing: bool = False
    text: Texts | None = None

    @property
    def help(self) -> Texts:
        """Return the help text: a sentence or two."""
        return self.text or Text(f"job.parameter.{self.name}")


class ColumnKind(StrEnum):
    """The format and alignment of a column's values."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    SHARE = "share"  # 0 to 1, shown as a percentage
    MILLISECONDS = "ms"  # a duration
    TIMESTAMP = "timestamp"  # an instant: milliseconds since 1970
    YES_NO = "yes_no"  # a boolean
    LINK = "link"  # an address; a path leads to this page's server


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of a result table.

    :ivar cell_texts: for a TEXT column whose cells are the job's own terms: cell -> text to show. Rows are reported
        with the cells, which are the same in all languages; a cell that is not listed is shown as it is.
    """

    name: str
    kind: ColumnKind
    cell_texts: Mapping[str, Texts] = field(default_factory=dict)
    text: Texts | None = None

    @property
    def title(self) -> Texts:
        """Return the heading."""
        return self.text or Text(f"job.column.{self.name}")


#: Kind -> names of the columns that have it, in the tables of all jobs; other columns are integers.
_NAMES = {
    ColumnKind.TEXT: """account agreement anomaly bank broker certainty day faults finding from_to group invariant key
        kind message producer queue status tag topic what where who why""",
    ColumnKind.NUMBER: "bytes_per_s max_to_mean peak_per_s per_s to_mean variation",
    ColumnKind.SHARE: "high low peak_share rate share",
    ColumnKind.MILLISECONDS: "age longest max p50 p90 p95 p99 window worst_p99",
    ColumnKind.TIMESTAMP: "credited_at debited_at peak_at peak_window since start",
    ColumnKind.YES_NO: "conserved exact has_ended",
    ColumnKind.LINK: "link",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def columns(
    *names: str,
    cells: Mapping[str, Mapping[str, Texts]] = MappingProxyType({}),
    job: str | None = None,
    kind: ColumnKind = ColumnKind.INTEGER,
) -> tuple[TableColumn, ...]:
    """Return several columns.

    :param cells: name of a column -> the job's own terms in it, as in :attr:`TableColumn.cell_texts`.
    :param job: the job in whose tables such a column has a heading of its own.
    :param kind: the kind of columns that are not of the same kind in all jobs.
    """
    own = {name: Text(f"job.{job}.column.{name}") for name in names} if job else {}
    return tuple(TableColumn(name, _KINDS.get(name, kind), cells.get(name, {}), own.get(name)) for name in names)


def cell_texts(*cells: str, room: str = "job.cell.") -> Mapping[str, Texts]:
    """Return texts for :class:`TableColumn`: cell -> its text, which is in the catalogue under ``room`` and the
    cell.
    """
    return {cell: Text(f"{room}{cell}") for cell in cells}


@dataclass(frozen=True, slots=True)
class JobTable:
    """A result table of a job; each report of it replaces the previous one.

    :ivar bad_column: name of an integer column; rows in which it is above 0 are findings (marked on the page).
    """

    name: str
    columns: tuple[TableColumn, ...]
    bad_column: str | None = None
    text: Texts | None = None

    @property
    def title(self) -> Texts:
        """Return the title."""
        return self.text or Text(f"job.table.{self.name}")


@dataclass(frozen=True, slots=True)
class JobPlot:
    """Numbers over time, or over another integer (``x_title``), one line per series.

    :ivar series_texts: texts for the series' names, as :attr:`TableColumn.cell_texts`.
    """

    name: str
    unit: str
    x_title: Texts | None = None  # None: x is a point in time, in milliseconds
    series_texts: Mapping[str, Texts] = field(default_factory=dict)
    text: Texts | None = None

    @property
    def title(self) -> Texts:
        """Return the title."""
        return self.text or Text(f"job.plot.{self.name}")


@dataclass(frozen=True, slots=True)
class JobDescription:
    """Description of a job.

    :ivar name: as in ``glassmq pipeline NAME``.
    :ivar about: what it answers, in two or three sentences.
    """

    name: str
    title: Texts
    about: Texts
    parameters: tuple[JobParameter, ...]
    tables: tuple[JobTable, ...] = ()
    plots: tuple[JobPlot, ...] = ()

    @property
    def runs_until_stopped(self) -> bool | None:
        """Return False if the job ends by itself, or None if its parameter ``follow`` decides."""
        return None if any(parameter.name == "follow" for parameter in self.parameters) else False


# --- parameters that several jobs have -------------------------------------------------------------------------------

TOPICS = JobParameter("topics", ParameterKind.TOPICS, required=True)
STARTING_OFFSETS = JobParameter(
    "starting_offsets", ParameterKind.TEXT, default="earliest", text=Text("job.parameter.starting_offsets_or_json")
)
#: For jobs that cannot start in the middle of a queue.
STARTING_END = JobParameter(
    "starting_offsets", ParameterKind.CHOICE, default="earliest", choices=("earliest", "latest")
)
#: For jobs whose stream does the same as their batch.
FOLLOW = JobParameter("follow", ParameterKind.SWITCH, default=False)
CHECKPOINT_FOLDER = JobParameter("checkpoint_folder", ParameterKind.FOLDER)


def messages_max(name: str, default: int, text: Texts | None = None) -> JobParameter:
    """Return a parameter that bounds the messages of a micro-batch, or of a part of it."""
    return JobParameter(name, ParameterKind.INTEGER, default, minimum=1, maximum=BATCH_MAX_MESSAGES, text=text)


def trigger_ms(default: int) -> JobParameter:
    """Return the parameter for how often a job checks for new messages."""
    return JobParameter("trigger_ms", ParameterKind.DURATION, default=default, minimum=100, maximum=HOUR_MS)
