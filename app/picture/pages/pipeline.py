"""Spark's jobs as they describe themselves, and what their runs have reported."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.picture.world.world import Words


class PipelineParameter(TypedDict):
    """Something that a job is asked."""

    name: str
    #: A word of ParameterKind in engine/pipeline/jobs/description.py.
    kind: str
    help: Words
    default: str | int | bool | None
    required: bool
    #: The parameter that may be given in place of this one.
    unless: str | None
    minimum: int | None
    maximum: int | None
    choices: list[str]


class ResultColumn(TypedDict):
    """A column of a table that a job reports."""

    name: str
    #: A word of ColumnKind in engine/pipeline/jobs/description.py.
    kind: str
    title: Words
    #: By the word in a cell, the words that stand for it.
    cell_texts: dict[str, Words]


class ResultTable(TypedDict):
    """A table that a job reports."""

    name: str
    title: Words
    columns: list[ResultColumn]
    #: The column whose value above 0 makes a row a finding.
    bad_column: str | None


class ResultPlot(TypedDict):
    """A plot that a job reports."""

    name: str
    title: Words
    unit: str
    #: Null: x is a point in time in microseconds since 1970.
    x_title: Words | None
    series_texts: dict[str, Words]


class PipelineJob(TypedDict):
    """A job, as it describes itself."""

    name: str
    title: Words
    about: Words
    #: Null: its parameter "follow" decides.
    runs_until_stopped: bool | None
    parameters: list[PipelineParameter]
    tables: list[ResultTable]
    plots: list[ResultPlot]


class PipelineInfo(TypedDict):
    """What a server can run."""

    jobs: list[PipelineJob]
    #: Why no run can be started.
    problem: Words | None
    running_max: int
    master: str | None
    folder: str | None
    asks_for_keys: bool


class RunFailure(TypedDict):
    """Why a run could not go on."""

    text: Words
    #: In English.
    detail: str | None


class PipelineRun(TypedDict):
    """What every list shows of a run."""

    id: str
    job: str
    arguments: dict[str, str | int | bool | None]
    master: str
    started_us: int
    #: The page that started it.
    origin: str | None
    #: A word of RunPhase in app/pipeline/run_phase.py.
    phase: str
    #: When Spark was there.
    running_us: int | None
    ended_us: int | None
    error: str | None
    failure: RunFailure | None
    log_file: str | None
    batch_count: int
    row_count: int


class RunInShort(PipelineRun):
    """A run in a list of many."""

    is_whole: Literal[False]


class RunProgress(TypedDict):
    """How much of a unit a run has done."""

    done: int
    total: int | None


#: A value of a table, or a sentence in every language.
ResultCell = str | int | float | bool | None | Words


class ResultRows(TypedDict):
    """The rows of a table that a run has reported."""

    rows: list[list[ResultCell]]
    left_out: int


class MicroBatch(TypedDict):
    """The figures of a micro-batch of a stream."""

    #: From 1 on.
    n: int
    #: When it began; null where the batch did not report it.
    at_us: int | None
    query: str | None
    batch: float | None
    rows: float | None
    input_rows_per_s: float | None
    processed_rows_per_s: float | None
    total_ms: float | None
    lag: float | None
    durations_ms: NotRequired[dict[str, float]]


#: By topic, broker and queue id: the offset to read next.
QueueOffsets = dict[str, dict[str, dict[str, int]]]


class WholeRun(PipelineRun):
    """A run with everything that it has reported."""

    is_whole: Literal[True]
    #: Events that were left out.
    dropped: int
    #: By unit.
    progress: dict[str, RunProgress]
    #: By table.
    tables: dict[str, ResultRows]
    #: By plot and line: points of x and y.
    plots: dict[str, dict[str, list[list[float]]]]
    batches: list[MicroBatch]
    notes: list[Words]
    reached: QueueOffsets
    latest: QueueOffsets


#: Running ones and the last few are whole.
ShownRun = RunInShort | WholeRun


class PipelineRuns(TypedDict):
    """The stream of runs."""

    runs: dict[str, ShownRun]
    #: Ids, newest first.
    order: list[str]


class RunList(TypedDict):
    """All runs, newest first."""

    runs: list[ShownRun]


class StartedRun(TypedDict):
    """A run that was started."""

    id: str
