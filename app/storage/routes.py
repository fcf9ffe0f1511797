"""The storage laboratory over HTTP::

    GET /storage              the page
    GET /api/storage/stores   the files of both stores with a traffic
    GET /api/storage/file     one file, unit by unit: ``store``, ``path``, and ``at``: from which byte on
    GET /api/storage/unit     one unit to the byte: ``store``, ``path``, ``at``
    GET /api/storage/scenarios  the lab's scenarios about storage, as its list shows them
    GET /api/storage/find     ``by`` (offset, key, time), ``topic``, ``queue`` and ``value``: finds a message in both

Each request names its traffic by the fields of :class:`~app.storage.laboratory.traffic.LaboratoryTraffic`; the same has
the same files at any time, so that links into them stay valid. Errors are ``{"error", "text": {"en", "zh"}}``.
"""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, Response, render_template, request

from app.foundation.json_types import JsonObject
from app.foundation.translator import in_all_languages
from app.storage.laboratory import kafka_side, rocketmq_side
from app.storage.laboratory.laboratory import BuiltStores, Laboratory, LaboratoryBusy
from app.storage.laboratory.search import SearchQuestion, search
from app.storage.laboratory.store_files import StoreFile, UnknownFile
from app.storage.laboratory.store_side import StoreSide
from app.storage.laboratory.traffic import BOUNDS, CODECS, FIRST_MS, STEP_MS, LaboratoryTraffic, read_traffic
from app.web.api import json_answer
from app.web.api_parameters import BadParameter, only_known, short_text, shown, whole_number
from engine.runtime.port import DiskFault
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES

_TRAFFIC = tuple(LaboratoryTraffic().as_json())
_PLACE = ("store", "path", "at")
_QUESTION = ("by", "topic", "queue", "value")
_WAYS = ("offset", "key", "time")
_KEY_MAX = 40
#: Sizes of files that the page shows.
_SIZES = {
    "commit_log_bytes": rocketmq_side.CONFIG.mapped_file_size_commit_log,
    "queue_entries": rocketmq_side.CONFIG.mapped_file_size_consume_queue_entries,
    "queue_entry_bytes": ENTRY_SIZE_BYTES,
    # A text: it is part of a file's name.
    "queue_file_bytes": str(rocketmq_side.CONFIG.mapped_file_size_consume_queue),
    "hash_slots": rocketmq_side.CONFIG.max_hash_slot_num,
    "segment_bytes": kafka_side.CONFIG.segment_bytes,
    "index_interval_bytes": kafka_side.CONFIG.index_interval_bytes,
}
_POSITION_MAX = 2**31 - 1


def create_storage_page() -> Blueprint:
    """Return the blueprint with the page ``/storage``."""
    pages = Blueprint("storage", __name__)

    @pages.get("/storage")
    def storage() -> str:
        return render_template("storage.html")

    return pages


def add_storage_routes(api: Blueprint, laboratory: Laboratory, scenarios: Callable[[], list[JsonObject]]) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`. ``scenarios``: those of the lab about
    storage.
    """

    @api.get("/storage/scenarios")
    def storage_scenarios() -> Response:
        only_known(request.args, ())
        return json_answer({"scenarios": scenarios()})

    @api.get("/storage/stores")
    def storage_stores() -> Response:
        only_known(request.args, _TRAFFIC)
        traffic = read_traffic(request.args)
        with laboratory.stores(traffic) as stores:
            return json_answer(
                {
                    "traffic": traffic.as_json(),
                    "bounds": {name: list(bounds) for name, bounds in BOUNDS.items()},
                    "codecs": list(CODECS),
                    "topics": [traffic.topic(number) for number in range(traffic.topics)],
                    "time_step_ms": STEP_MS,
                    "sizes": _SIZES,
                    "stores": stores.files,
                }
            )

    @api.get("/storage/file")
    def storage_file() -> Response:
        only_known(request.args, (*_TRAFFIC, *_PLACE))
        with laboratory.stores(read_traffic(request.args)) as stores:
            return json_answer(StoreFile(_side(stores), request.args.get("path", "")).page(_position()))

    @api.get("/storage/unit")
    def storage_unit() -> Response:
        only_known(request.args, (*_TRAFFIC, *_PLACE))
        with laboratory.stores(read_traffic(request.args)) as stores:
            return json_answer(StoreFile(_side(stores), request.args.get("path", "")).unit(_position()))

    @api.get("/storage/find")
    def storage_find() -> Response:
        only_known(request.args, (*_TRAFFIC, *_QUESTION))
        traffic = read_traffic(request.args)
        question = _question(traffic)
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
    text = in_all_languages(key, **values)
    return json_answer({"error": text["en"], "text": text}, status)


def _side(stores: BuiltStores) -> StoreSide:
    name = request.args.get("store", "")
    if name not in stores.sides:
        raise BadParameter("store", f"{shown(name)} is not known", ", ".join(stores.sides))
    return stores.sides[name]


def _position() -> int:
    return whole_number("at", request.args.get("at", "0"), 0, _POSITION_MAX)


def _question(traffic: LaboratoryTraffic) -> SearchQuestion:
    by, topic = request.args.get("by", ""), request.args.get("topic", "")
    if by not in _WAYS:
        raise BadParameter("by", f"{shown(by)} is not known", ", ".join(_WAYS))
    topics = [traffic.topic(number) for number in range(traffic.topics)]
    if topic not in topics:
        raise BadParameter("topic", f"{shown(topic)} is not known", ", ".join(topics))
    queue_id = whole_number("queue", request.args.get("queue", "0"), 0, traffic.queues - 1)
    text = request.args.get("value", "")
    if by == "key":
        return SearchQuestion(by, topic, queue_id, short_text("value", text, _KEY_MAX))
    if by == "offset":
        return SearchQuestion(by, topic, queue_id, whole_number("value", text, 0, traffic.messages))
    # As the form sends it: milliseconds since the first message.
    return SearchQuestion(by, topic, queue_id, FIRST_MS + whole_number("value", text, 0, traffic.messages * STEP_MS))
