"""A broker's log of transactions as a DataFrame of messages: what the reconciliation reads, without a broker."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from engine.pipeline.jobs.transaction_reconciliation.facts import COLUMNS_NEEDED
from engine.pipeline.source.decoding.schema import PROPERTY_PREFIX, arrow_schema
from engine.protocol.names import (
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
)

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def at(ms):
    return START + dt.timedelta(milliseconds=ms)


class TransactionLog:
    """Each call stores one message, as RocketMQ's broker would, 1 ms and 100 bytes after the last one."""

    def __init__(self, broker_name="broker-a", topic="Transfers"):
        self.broker_name, self.topic = broker_name, topic
        self.rows = []
        self.now_ms = 0
        self._ends = {}
        #: Identity -> the newest copy of its half message.
        self.halves = {}

    def half(self, identity, *, checks=0, key=None, unique_id=...):
        """Add a half message; of a known identity: stored again."""
        known = self.halves.get(identity)
        properties = {"TRAN_MSG": "true", "REAL_TOPIC": self.topic, "REAL_QID": "0", "PGROUP": "bank"}
        if checks:
            properties["TRANSACTION_CHECK_TIMES"] = str(checks)
        row = self._store(
            TRANSACTION_HALF_TOPIC,
            unique_id=identity if unique_id is ... else unique_id,
            keys=[key or f"key-{identity}"],
            properties=properties,
            born_timestamp=known["born_timestamp"] if known else None,
        )
        self.halves[identity] = row
        return row

    def op(self, *offsets):
        """An op message naming these offsets in the half queue."""
        body = ",".join(map(str, offsets)).encode()
        return self._store(TRANSACTION_OP_HALF_TOPIC, unique_id=None, keys=[], tags="d", properties={}, body=body)

    def visible(self, identity, half=None):
        """The committed message, without the op message."""
        half = half or self.halves[identity]
        return self._again(half, self.topic, prepared_transaction_offset=half["commit_log_offset"])

    def commit(self, identity, half=None):
        """END_TRANSACTION with commit."""
        half = half or self.halves[identity]
        self.visible(identity, half)
        self.op(half["queue_offset"])

    def roll_back(self, identity, half=None):
        """END_TRANSACTION with rollback."""
        self.op((half or self.halves[identity])["queue_offset"])

    def give_up(self, identity):
        """Asked too often."""
        return self._again(self.halves[identity], TRANSACTION_CHECK_MAX_TIME_TOPIC)

    def ordinary(self, topic=None):
        """A message outside of any transaction."""
        return self._store(topic or self.topic, unique_id=f"o{len(self.rows)}", keys=[], properties={})

    def _again(self, half, topic, **fields):
        names = ("unique_id", "keys", "properties", "born_timestamp")
        return self._store(topic, **{name: half[name] for name in names}, **fields)

    def _store(self, topic, *, born_timestamp=None, tags=None, body=b"", prepared_transaction_offset=0, **fields):
        self.now_ms += 1
        offset = self._ends.get(topic, 0)
        self._ends[topic] = offset + 1
        row = {
            "topic": topic,
            "broker_name": self.broker_name,
            "queue_id": 0,
            "queue_offset": offset,
            "commit_log_offset": 100 * len(self.rows),
            "message_id": f"m{len(self.rows)}",
            "tags": tags,
            "born_timestamp": born_timestamp or at(self.now_ms),
            "store_timestamp": at(self.now_ms),
            "born_host": "127.0.0.1:1",
            "reconsume_times": 0,
            "prepared_transaction_offset": prepared_transaction_offset,
            "body": body,
            **fields,
        }
        self.rows.append(row)
        return row


def messages(spark, rows):
    """Rows as a DataFrame with the columns that the job reads."""
    names = (*COLUMNS_NEEDED, "body")
    columns = {name: [_value(row, name) for row in rows] for name in names}
    return spark.createDataFrame(pa.table(columns, schema=arrow_schema(names)))


def _value(row, name):
    is_property = name.startswith(PROPERTY_PREFIX)
    return row["properties"].get(name.removeprefix(PROPERTY_PREFIX)) if is_property else row[name]
