"""The pipeline's data for pages: the jobs as they describe themselves, the runs, and Spark's marks on the lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.lab.scenario.scenario_files import scenario_names
from engine.pipeline.jobs.description import JobDescription, JobParameter, JobPlot, JobTable, ParameterKind, TableColumn

if TYPE_CHECKING:
    from app.picture.live_state import LivePicture, SparkProgress
    from app.picture.pages.pipeline import (
        PipelineJob,
        PipelineParameter,
        PipelineRuns,
        QueueOffsets,
        ResultColumn,
        ResultPlot,
        ResultTable,
    )
    from app.picture.rates import SecondLists
    from app.picture.world.world import Words
    from app.pipeline.host import PipelineHost
    from app.web.live_source import LiveSource

#: The namespace of the stream of runs.
NAMESPACE = "/pipeline"


def description_json(description: JobDescription) -> PipelineJob:
    """Return a job for a page: what it answers, and the fields of its form."""
    return {
        "name": description.name,
        "title": dict(description.title),
        "about": dict(description.about),
        "runs_until_stopped": description.runs_until_stopped,
        "parameters": [_parameter(parameter) for parameter in description.parameters],
        "tables": [_table(table) for table in description.tables],
        "plots": [_plot(plot) for plot in description.plots],
    }


def _parameter(parameter: JobParameter) -> PipelineParameter:
    # Of a scenario, a page offers those that it may name.
    choices = scenario_names() if parameter.kind is ParameterKind.SCENARIO else parameter.choices
    return {
        "name": parameter.name,
        "kind": parameter.kind,
        "help": dict(parameter.help),
        "default": parameter.default,
        "required": parameter.required,
        "unless": parameter.unless,
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "choices": [*choices],
    }


def _table(table: JobTable) -> ResultTable:
    return {
        "name": table.name,
        "title": dict(table.title),
        "columns": [_column(column) for column in table.columns],
        "bad_column": table.bad_column,
    }


def _column(column: TableColumn) -> ResultColumn:
    return {
        "name": column.name,
        "kind": column.kind,
        "title": dict(column.title),
        "cell_texts": _plain(column.cell_texts),
    }


def _plot(plot: JobPlot) -> ResultPlot:
    return {
        "name": plot.name,
        "title": dict(plot.title),
        "unit": plot.unit,
        "x_title": None if plot.x_title is None else dict(plot.x_title),
        "series_texts": _plain(plot.series_texts),
    }


def _plain(texts: Mapping[str, Mapping[str, str]]) -> dict[str, Words]:
    return {word: dict(text) for word, text in texts.items()}


@dataclass(frozen=True, slots=True)
class RunsSource:
    """The stream of runs."""

    host: PipelineHost

    def state(self) -> PipelineRuns:
        runs = self.host.runs()
        return {"runs": {run["id"]: run for run in runs}, "order": [run["id"] for run in runs]}

    def history(self) -> dict[str, object]:
        """Return an empty history: a run has its own."""
        return {}


@dataclass(frozen=True, slots=True)
class WithSparkOffsets:
    """The live state, with the offsets to which running jobs have read the broker's queues under ``spark``.

    :ivar reached_offsets: :meth:`app.pipeline.host.PipelineHost.reached_offsets`.
    """

    source: LiveSource
    reached_offsets: Callable[[], list[tuple[str, str, QueueOffsets]]]

    def state(self) -> LivePicture:
        state = self.source.state()
        return {**state, "spark": self._spark(state["cluster"]["broker_name"])}

    def history(self) -> SecondLists:
        return self.source.history()

    def _spark(self, broker_name: str) -> SparkProgress:
        jobs: dict[str, str] = {}
        offsets: dict[str, dict[str, dict[str, int]]] = {}
        for run_id, job, reached in self.reached_offsets():
            jobs[run_id] = job
            for topic, brokers in reached.items():
                for queue_id, offset in brokers.get(broker_name, {}).items():
                    offsets.setdefault(topic, {}).setdefault(queue_id, {})[run_id] = offset
        return {"jobs": jobs, "offsets": offsets}
