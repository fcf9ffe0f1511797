"""Records of the trace topic and stored messages as events of messages (on the executors).

A trace message holds many records, as GlassMQ's and RocketMQ's clients write them (:mod:`engine.client.trace`): text,
with records ended by ``\\x02`` and fields by ``\\x01``. Two kinds matter: ``Pub``, a send that a broker acknowledged,
and ``SubAfter``, a listener call that ended. Any client may write to the topic; records that cannot be read are
counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.client.trace.trace_context import SWALLOWED_CODE
from engine.pipeline.jobs.arrow_columns import arrow_schema_of
from engine.pipeline.jobs.delivery_audit.judged_groups import JudgedGroups
from engine.protocol.message.message_id import client_of_unique_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: kind: "stored", "acknowledged" (the group is the producer's), "consumed", "swallowed" (a duplicate that was not
#: processed), or "unreadable". call: the id of a listener call. is_counted: it was counted before.
#: client: the client that reported it, by the unique id of the trace message.
EVENT_SCHEMA = (
    "unique_id string, kind string, topic string, queue string, queue_offset bigint, at_ms bigint, "
    "client_group string, call string, is_ok boolean, is_counted boolean, client string"
)
EVENT_ARROW = arrow_schema_of(EVENT_SCHEMA)
_FIELD_END, _RECORD_END = "\x01", "\x02"
#: Ordinals of RocketMQ's MessageType: half messages may be rolled back, and delayed ones are stored later.
_NOT_STORED_AT_ONCE = ("1", "3")


class TraceEvent(NamedTuple):
    """One record of a trace message about one message."""

    unique_id: str
    kind: str
    topic: str
    at_ms: int
    client_group: str
    call: str
    is_ok: bool


def stored_events(messages: DataFrame) -> DataFrame:
    """Return an event for each message that has a unique id."""
    return messages.filter(F.col("unique_id").isNotNull()).select(
        "unique_id",
        F.lit("stored").alias("kind"),
        "topic",
        F.concat_ws(":", "broker_name", "queue_id").alias("queue"),
        "queue_offset",
        F.unix_millis("store_timestamp").alias("at_ms"),
        F.lit("").alias("client_group"),
        F.lit("").alias("call"),
        F.lit(True).alias("is_ok"),
        F.lit(False).alias("is_counted"),
        F.lit("").alias("client"),
    )


def trace_events(trace_messages: DataFrame, topics: tuple[str, ...], groups: JudgedGroups) -> DataFrame:
    """Return the events in trace messages that are about ``topics`` and ``groups``."""
    return trace_messages.select("body", "unique_id").mapInArrow(_parser(topics, groups.names()), EVENT_SCHEMA)


def _parser(topics: tuple[str, ...], groups: frozenset[str] | None) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def is_wanted(event: TraceEvent) -> bool:
        if event.kind == "acknowledged":
            return event.topic in topics
        return groups is None or event.client_group in groups or event.kind == "unreadable"

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            messages = zip(*(batch.column(name).to_pylist() for name in ("body", "unique_id")), strict=True)
            events: list[TraceEvent] = []
            clients: list[str] = []
            for body, unique_id in messages:
                of_message = [event for event in events_of(body or b"") if is_wanted(event)]
                events += of_message
                clients += [client_of_unique_id(unique_id or "")] * len(of_message)
            columns = dict(zip(TraceEvent._fields, zip(*events, strict=True), strict=True)) if events else {}
            nothing = [None] * len(events)
            columns |= {"is_counted": (False,) * len(events), "client": tuple(clients)}
            arrays = [pa.array(columns.get(field.name, nothing), field.type) for field in EVENT_ARROW]
            yield pa.RecordBatch.from_arrays(arrays, schema=EVENT_ARROW)

    return run


def events_of(body: bytes) -> Iterator[TraceEvent]:
    """Yield the events in the body of one trace message. Records of other kinds are skipped."""
    for record in body.decode(errors="replace").split(_RECORD_END):
        fields = record.split(_FIELD_END)
        read = _READERS.get(fields[0])
        if read is None:
            continue
        try:
            event = read(fields)
        except (IndexError, ValueError):
            yield TraceEvent("", "unreadable", "", 0, "", "", is_ok=False)
            continue
        if event is not None:
            yield event


def _acknowledged(fields: list[str]) -> TraceEvent | None:
    # Clients before 4.3.1 write no offset message id.
    is_ok = fields[13 if len(fields) >= 14 else 12] == "true"
    if fields[11] in _NOT_STORED_AT_ONCE:
        return None
    return TraceEvent(fields[5], "acknowledged", fields[4], _milliseconds(fields[1]), fields[3], "", is_ok)


def _consumed(fields: list[str]) -> TraceEvent | None:
    # Clients before 4.7 write neither time nor group: the record's owner is unknown then.
    kind = "swallowed" if fields[6] == str(SWALLOWED_CODE) else "consumed"
    return TraceEvent(fields[2], kind, "", _milliseconds(fields[7]), fields[8], fields[1], fields[4] == "true")


def _milliseconds(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 53:
        raise ValueError(f"{text} is not a time")
    return value


_READERS: dict[str, Callable[[list[str]], TraceEvent | None]] = {"Pub": _acknowledged, "SubAfter": _consumed}
