"""The pipeline's data for pages: the jobs as they describe themselves, the runs, and Spark's marks on the lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.lab.scenario.scenario_files import scenario_names
from engine.pipeline.jobs.description import JobDescription, JobParameter, ParameterKind

if TYPE_CHECKING:
    from app.foundation.json_types import JsonObject, JsonValue
    from app.picture.live_state import LivePicture, SparkProgress
    from app.picture.rates import SecondLists
    from app.pipeline.host import PipelineHost
    from app.pipeline.run_record import ReachedOffsets
    from app.web.live_source import LiveSource

#: The namespace of the stream of runs.
NAMESPACE = "/pipeline"


_PARAMETER = ("name", "kind", "help", "default", "required", "unless", "minimum", "maximum")
_TABLE = ("name", "title", "bad_column")
_COLUMN = ("name", "kind", "title", "cell_texts")
_PLOT = ("name", "title", "unit", "x_title", "series_texts")


def description_json(description: JobDescription) -> JsonObject:
    """Return a job for a page: what it answers, and the fields of its form."""
    return {
        **_shown(description, ("name", "title", "about", "runs_until_stopped")),
        "parameters": [
            {**_shown(parameter, _PARAMETER), "choices": _choices(parameter)} for parameter in description.parameters
        ],
        "tables": [
            {**_shown(table, _TABLE), "columns": [_shown(column, _COLUMN) for column in table.columns]}
            for table in description.tables
        ],
        "plots": [_shown(plot, _PLOT) for plot in description.plots],
    }


def _shown(part: object, names: Iterable[str]) -> JsonObject:
    """Return these attributes of a part of a description; its texts are mappings."""
    return {name: _plain(getattr(part, name)) for name in names}


def _plain(value: Any) -> JsonValue:
    return {key: _plain(value[key]) for key in value} if isinstance(value, Mapping) else value


def _choices(parameter: JobParameter) -> list[JsonValue]:
    """Return the choices that a page offers; of a scenario, those that it may name."""
    return [*(scenario_names() if parameter.kind is ParameterKind.SCENARIO else parameter.choices)]


@dataclass(frozen=True, slots=True)
class RunsSource:
    """The stream of runs: ``{"runs": {id: run}, "order": [id, newest first]}``."""

    host: PipelineHost

    def state(self) -> JsonObject:
        runs = self.host.runs()
        order: list[JsonValue] = [run["id"] for run in runs]
        return {"runs": {run["id"]: run for run in runs}, "order": order}

    def history(self) -> JsonObject:
        """Return an empty history: a run has its own."""
        return {}


@dataclass(frozen=True, slots=True)
class WithSparkOffsets:
    """The live state, with the offsets to which running jobs have read the broker's queues under ``spark``.

    :ivar reached_offsets: :meth:`app.pipeline.host.PipelineHost.reached_offsets`.
    """

    source: LiveSource
    reached_offsets: Callable[[], list[tuple[str, str, ReachedOffsets]]]

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
