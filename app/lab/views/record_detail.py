"""One stored message of a lab world down to its bytes, as the broker has it at the event that is viewed.

A consumer holds decoded messages; the nodes of its tree show the broker's record from which they were pulled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from app.lab.foundation.refusal import LabRefused
from app.observation.record_view import field_text, record_view
from engine.lab.nodes.broker_node import BrokerNode
from engine.runtime.lab.lab_clock import WORLD_BEGIN_MS
from engine.texts import catalogue

if TYPE_CHECKING:
    from app.picture.record import BareField, BareRecordView, FieldText, RecordView
    from engine.broker.broker import Broker
    from engine.lab.run.run import LabRun


def record_at(run: LabRun, node: str, offset: int) -> RecordView:
    """Return the record that begins at ``offset`` of the commit log of ``node``; see
    :func:`app.observation.record_view.record_view`.

    Raises :class:`LabRefused`.
    """
    raw = _broker(run, node).store.commit_log.record_at(offset)
    if raw is None:
        raise LabRefused("no_record", offset=offset, node=node)
    return record_view(raw, WORLD_BEGIN_MS)


def record_of_message(run: LabRun, node: str, topic: str, queue_id: int, queue_offset: int) -> RecordView:
    """Return the record that an entry of a consume queue points to. Raises :class:`LabRefused`."""
    store = _broker(run, node).store
    queue = next((queue for name, number, queue in store.consume_queues() if (name, number) == (topic, queue_id)), None)
    entry = None if queue is None else next(iter(queue.entries(queue_offset, 1)), None)
    if entry is None:
        raise LabRefused("no_entry", queue=f"{topic[:200]}@{queue_id}", offset=queue_offset, node=node)
    return record_at(run, node, entry[0])


def without_texts(view: RecordView) -> BareRecordView:
    """Return ``view`` of a record, without what is the same for all records: :func:`field_texts`."""
    fields: list[BareField] = [
        {"name": field["name"], "start": field["start"], "length": field["length"], "value": field["value"]}
        for field in view["fields"]
    ]
    return cast("BareRecordView", {**view, "fields": fields})


def field_texts() -> dict[str, FieldText]:
    """Return name of a field -> its texts."""
    names = (key.split(".")[1] for key in catalogue("en") if key.startswith("record."))
    return {name: field_text("record.", name) for name in names}


def _broker(run: LabRun, node: str) -> Broker:
    role = run.world.find(BrokerNode, node)
    if role is None or role.broker is None or not role.broker.address:
        raise LabRefused("no_broker", node=node[:80])
    return role.broker
