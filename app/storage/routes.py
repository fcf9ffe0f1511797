"""The storage laboratory over HTTP: both stores with a traffic, their files, and searches
(:mod:`app.picture.pages.storage`).

Each request names its traffic by the fields of :class:`~app.storage.laboratory.traffic.LaboratoryTraffic`; the same has
the same files at any time, so that links into them stay valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flask import Blueprint, Response

from app.foundation.translator import in_all_languages
from app.picture.pages.lab import ScenarioRow
from app.picture.pages.storage import BothStores, FileSizes, StorageScenarios
from app.storage.laboratory import kafka_side, rocketmq_side
from app.storage.laboratory.laboratory import Laboratory, LaboratoryBusy
from app.storage.laboratory.search import SearchQuestion, search
from app.storage.laboratory.store_files import StoreFile, UnknownFile
from app.storage.laboratory.traffic import (
    BOUNDS,
    CODECS,
    FIRST_MS,
    STEP_MS,
    TRAFFIC_FIELDS,
    LaboratoryTraffic,
    traffic_of,
)
from app.web.api import json_answer, refusal_answer
from app.web.api_parameters import read_query
from engine.fields.field import Field
from engine.fields.refusal import shown
from engine.runtime.port import DiskFault
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES

_PLACE = (
    Field("store", "choice", allowed=("rocketmq", "kafka")),
    Field("path", "text", 0, 200, default=""),
    Field("at", "integer", 0, 2**31 - 1, default=0),
)
_QUESTION = (
    Field("by", "choice", allowed=("offset", "key", "time")),
    Field("topic", "text", 1, 40),
    Field("queue", "integer", default=0),
    Field("value", "text", 0, 40),
)
#: Sizes of files that the page shows.
_SIZES: FileSizes = {
    "commit_log_bytes": rocketmq_side.CONFIG.mapped_file_size_commit_log,
    "queue_entries": rocketmq_side.CONFIG.mapped_file_size_consume_queue_entries,
    "queue_entry_bytes": ENTRY_SIZE_BYTES,
    # A text: it is part of a file's name.
    "queue_file_bytes": str(rocketmq_side.CONFIG.mapped_file_size_consume_queue),
    "hash_slots": rocketmq_side.CONFIG.max_hash_slot_num,
    "segment_bytes": kafka_side.CONFIG.segment_bytes,
    "index_interval_bytes": kafka_side.CONFIG.index_interval_bytes,
}


def add_storage_routes(
    api: Blueprint, laboratory: Laboratory, scenarios: Callable[[], list[ScenarioRow]], runs: Sequence[str]
) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`. ``scenarios``: those of the lab about
    storage. ``runs``: the kinds of measurements that can be started.
    """

    @api.get("/storage/scenarios")
    def storage_scenarios() -> Response:
        read_query()
        answer: StorageScenarios = {"scenarios": scenarios()}
        return json_answer(answer)

    @api.get("/storage/stores")
    def storage_stores() -> Response:
        traffic = traffic_of(read_query(*TRAFFIC_FIELDS))
        with laboratory.stores(traffic) as stores:
            answer: BothStores = {
                "traffic": traffic.as_json(),
                "bounds": {name: list(bounds) for name, bounds in BOUNDS.items()},
                "codecs": list(CODECS),
                "topics": [traffic.topic(number) for number in range(traffic.topics)],
                "time_step_ms": STEP_MS,
                "sizes": _SIZES,
                "runs": list(runs),
                "stores": stores.files,
            }
        return json_answer(answer)

    @api.get("/storage/file")
    def storage_file() -> Response:
        with _file(laboratory) as (file, at):
            return json_answer(file.page(at))

    @api.get("/storage/unit")
    def storage_unit() -> Response:
        with _file(laboratory) as (file, at):
            return json_answer(file.unit(at))

    @api.get("/storage/find")
    def storage_find() -> Response:
        read = read_query(*TRAFFIC_FIELDS, *_QUESTION)
        traffic = traffic_of(read)
        question = _question(traffic, read)
        with laboratory.stores(traffic) as stores:
            return json_answer(search(stores, question))

    _add_refusals(api)


def _add_refusals(api: Blueprint) -> None:
    @api.errorhandler(UnknownFile)
    def unknown_file(error: UnknownFile) -> Response:
        return refusal("storage.no_file", 404, path=shown(str(error)))

    @api.errorhandler(LaboratoryBusy)
    def busy(_: LaboratoryBusy) -> Response:
        return refusal("storage.busy", 503)

    @api.errorhandler(DiskFault)
    def disk_fault(error: DiskFault) -> Response:
        return refusal("storage.disk_fault", 503, why=str(error))


def refusal(key: str, status: int, **values: object) -> Response:
    """Return an error in both languages."""
    return refusal_answer(in_all_languages(key, **values), status)


@contextmanager
def _file(laboratory: Laboratory) -> Iterator[tuple[StoreFile, int]]:
    """Open the file that the current request names, and return it with the position."""
    read = read_query(*TRAFFIC_FIELDS, *_PLACE)
    with laboratory.stores(traffic_of(read)) as stores:
        yield StoreFile(stores.sides[read["store"]], read["path"]), read["at"]


def _question(traffic: LaboratoryTraffic, read: Mapping[str, Any]) -> SearchQuestion:
    """Return the question, whose bounds depend on the traffic."""
    topics = tuple(traffic.topic(number) for number in range(traffic.topics))
    bounds = {"offset": traffic.messages, "time": traffic.messages * STEP_MS}
    value = (
        Field("value", "text", 1, 40) if read["by"] == "key" else Field("value", "integer", 0, bounds[read["by"]])
    ).read(read["value"], "value", of_text=True)
    # As the form sends it: milliseconds since the first message.
    value = FIRST_MS + value if read["by"] == "time" else value
    return SearchQuestion(
        read["by"],
        Field("topic", "choice", allowed=topics).read(read["topic"], "topic"),
        Field("queue", "integer", 0, traffic.queues - 1).read(read["queue"], "queue"),
        value,
    )
