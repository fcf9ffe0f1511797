"""Records of the trace topic and stored messages as events of messages.

A trace message holds many records, as GlassMQ's and RocketMQ's clients write them (:mod:`engine.client.trace`): text,
with records ended by ``\\x02`` and fields by ``\\x01``. Two kinds matter: ``Pub``, a send that a broker acknowledged,
and ``SubAfter``, a listener call that ended. Any client may write to the topic; records that cannot be read are
counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.client.trace.trace_context import SWALLOWED_CODE
from engine.pipeline.jobs.delivery_audit.judged_groups import JudgedGroups
from engine.protocol.message.message_id import client_of_unique_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Column of an event -> (its value for a stored message, its value for a trace record with the ``fields``).
#: kind: "stored", "acknowledged", "called" (a listener), or "unreadable". call: the id of a listener call.
#: is_swallowed: it was a duplicate that was not processed. is_counted: it was counted before.
#: client: the client that reported a call, by the unique id of the trace message; of a send, the producer's group.
_COLUMNS = {
    "unique_id": ("unique_id", "get(fields, IF(is_send, 5, 2))"),
    "kind": ("'stored'", "kind"),
    "topic": ("topic", "IF(is_send, get(fields, 4), NULL)"),
    "queue": ("queue", "string(NULL)"),
    "queue_offset": ("queue_offset", "bigint(NULL)"),
    "at_ms": ("stored_ms", "at_ms"),
    "client_group": ("''", "IF(is_send, '', get(fields, 8))"),
    "call": ("''", "IF(is_send, '', get(fields, 1))"),
    "is_ok": ("true", "is_ok"),
    "is_swallowed": ("false", f"NOT is_send AND get(fields, 6) = '{SWALLOWED_CODE}'"),
    "is_counted": ("false", "false"),
    "client": ("''", "IF(is_send, get(fields, 3), client)"),
}
EVENT_COLUMNS = tuple(_COLUMNS)
_FIELDS = r"explode(transform(split(string(body), '\u0002'), record -> split(record, '\u0001'))) AS fields"
_ID = "0" * 100
_TAIL = len(_ID) - len(client_of_unique_id(_ID))
_CLIENT = f"coalesce(left(unique_id, length(unique_id) - {_TAIL}), '') AS client"
#: Clients before 4.3.1 write no offset message id.
_IS_OK = "get(fields, CASE WHEN NOT is_send THEN 4 WHEN size(fields) >= 14 THEN 13 ELSE 12 END) = 'true' AS is_ok"
_AT_MS = "try_cast(get(fields, IF(is_send, 1, 7)) AS BIGINT) AS at_ms"
#: Half messages may be rolled back, and delayed ones are stored later; these are ordinals of RocketMQ's MessageType.
#: Clients before 4.7 write neither time nor group of a call: the record's owner is unknown then.
_KIND = f"""
    CASE WHEN size(fields) < IF(is_send, 13, 9) THEN 'unreadable'
         WHEN is_send AND get(fields, 11) IN ('1', '3') THEN NULL
         WHEN at_ms IS NULL OR at_ms NOT BETWEEN 0 AND {(1 << 53) - 1} THEN 'unreadable'
         WHEN NOT is_send THEN 'called'
         WHEN is_ok THEN 'acknowledged'
    END AS kind
"""


def stored_events(messages: DataFrame) -> DataFrame:
    """Return an event for each message that has a unique id.

    :param messages: as :func:`~engine.pipeline.jobs.delivery_audit.summaries.narrow` returns them.
    """
    with_id = messages.where("unique_id IS NOT NULL")
    return with_id.selectExpr(*(f"{value} AS {name}" for name, (value, _) in _COLUMNS.items()))


def trace_events(trace_messages: DataFrame, topics: tuple[str, ...], groups: JudgedGroups) -> DataFrame:
    """Return the events in trace messages that are about ``topics`` and ``groups``."""
    records = trace_messages.selectExpr(_FIELDS, _CLIENT).where("fields[0] IN ('Pub', 'SubAfter')")
    records = records.selectExpr("*", "fields[0] = 'Pub' AS is_send").selectExpr("*", _IS_OK, _AT_MS)
    events = records.selectExpr("*", _KIND).selectExpr(*(f"{value} AS {name}" for name, (_, value) in _COLUMNS.items()))
    kind, names = F.col("kind"), groups.names()
    of_group = F.lit(True) if names is None else F.col("client_group").isin(*names)
    is_wanted = ((kind == "acknowledged") & F.col("topic").isin(*topics)) | ((kind == "called") & of_group)
    return events.where(is_wanted | (kind == "unreadable"))
