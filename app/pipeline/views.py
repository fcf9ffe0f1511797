"""The pipeline's data for pages: the jobs as they describe themselves, the runs, and Spark's marks on the lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from engine.lab.scenario.scenario_files import scenario_names
from engine.pipeline.jobs.description import JobDescription, JobParameter, ParameterKind, Texts

if TYPE_CHECKING:
    from app.foundation.json_types import JsonObject, JsonValue
    from app.picture.live_state import LivePicture, SparkProgress
    from app.picture.rates import SecondLists
    from app.pipeline.host import PipelineHost
    from app.pipeline.run_record import ReachedOffsets
    from app.web.live_source import LiveSource

#: The namespace of the stream of runs.
NAMESPACE = "/pipeline"


def description_json(description: JobDescription) -> JsonObject:
    """Return a job for a page: what it answers, and the fields of its form."""
    return {
        "name": description.name,
        "title": dict(description.title),
        "about": dict(description.about),
        "runs_until_stopped": description.runs_until_stopped,
        "parameters": [
            {
                "name": parameter.name,
                "kind": parameter.kind.value,
                "help": dict(parameter.help),
                "default": parameter.default,
                "required": parameter.required,
                "unless": parameter.unless,
                "minimum": parameter.minimum,
                "maximum": parameter.maximum,
                "choices": _choices(parameter),
            }
            for parameter in description.parameters
        ],
        "tables": [
            {
                "name": table.name,
                "title": dict(table.title),
                "bad_column": table.bad_column,
                "columns": [
                    {
                        "name": column.name,
                        "kind": column.kind.value,
                        "title": dict(column.title),
                        "cell_texts": _texts(column.cell_texts),
                    }
                    for column in table.columns
                ],
            }
            for table in description.tables
        ],
        "plots": [
            {
                "name": plot.name,
                "title": dict(plot.title),
                "unit": plot.unit,
                "x_title": None if plot.x_title is None else dict(plot.x_title),
                "series_texts": _texts(plot.series_texts),
            }
            for plot in description.plots
        ],
    }


def _texts(texts: Mapping[str, Texts]) -> JsonObject:
    return {word: dict(text) for word, text in texts.items()}


def _choices(parameter: JobParameter) -> list[JsonValue]:
    """Return the choices that a page offers; of a scenario, those that it may name."""
    return [*(scenario_names() if parameter.kind is ParameterKind.SCENARIO else parameter.choices)]


class RunsSource:
    """The stream of runs: ``{"runs": {id: run}, "order": [id, newest first]}``."""

    def __init__(self, host: PipelineHost) -> None:
        self._host = host

    def state(self) -> JsonObject:
        runs = self._host.runs()
        order: list[JsonValue] = [run["id"] for run in runs]
        return {"runs": {run["id"]: run for run in runs}, "order": order}

    def history(self) -> JsonObject:
        """Return an empty history: a run has its own."""
        return {}


class WithSparkOffsets:
    """The live state, with the offsets to which running jobs have read the broker's queues under ``spark``."""

    def __init__(
        self, source: LiveSource, reached_offsets: Callable[[], list[tuple[str, str, ReachedOffsets]]]
    ) -> None:
        """Make the source. ``reached_offsets``: :meth:`app.pipeline.host.PipelineHost.reached_offsets`."""
        self._source = source
        self._reached_offsets = reached_offsets

    def state(self) -> LivePicture:
        state = self._source.state()
        return {**state, "spark": self._spark(state["cluster"]["broker_name"])}

    def history(self) -> SecondLists:
        return self._source.history()

    def _spark(self, broker_name: str) -> SparkProgress:
        jobs: dict[str, str] = {}
        offsets: dict[str, dict[str, dict[str, int]]] = {}
        for run_id, job, reached in self._reached_offsets():
            jobs[run_id] = job
            for topic, brokers in reached.items():
                for queue_id, offset in brokers.get(broker_name, {}).items():
                    offsets.setdefault(topic, {}).setdefault(queue_id, {})[run_id] = offset
        return {"jobs": jobs, "offsets": offsets}
