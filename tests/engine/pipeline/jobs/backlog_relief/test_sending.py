"""Which messages are sent next, as which rows, in which order."""

from __future__ import annotations

import pytest

from engine.pipeline.jobs.backlog_relief.sending import next_ranges, rows_to_send, takes_a_closer_look


@pytest.fixture
def messages(spark):
    """Two queues, the newest messages first."""
    columns = ["'T' topic", "'b' broker_name", "CAST(id % 2 AS INT) queue_id", "40 - id queue_offset"]
    columns += ["CAST(CAST(id AS STRING) AS BINARY) body", "array('k') keys", "'t' tags"]
    columns += ["IF(id = 0, map('__SHARDINGKEY', 'key', 'MOVED_FROM', 'old'), map('a', 'b')) properties"]
    return spark.range(0, 40, 1, 3).selectExpr(*columns)


def test_the_first_messages_of_each_queue_are_next(messages):
    assert next_ranges(messages, 10) == {"T b:0": (2, 10), "T b:1": (1, 9)}
    assert next_ranges(messages, 1) == {"T b:0": (2, 2), "T b:1": (1, 1)}


def test_rows_of_a_queue_are_in_the_order_of_their_offsets_and_led_by_their_senders_key(messages):
    rows = rows_to_send(messages, "Later", []).collect()
    for queue in ("T b:0", "T b:1"):
        offsets = [int(row.moved_from.split(" ")[-1]) for row in rows if row.moved_from.startswith(queue)]
        assert len(offsets) == 20 and offsets == sorted(offsets)
    (chosen,) = [row for row in rows if row.body == b"0"]
    assert (chosen.sharding_key, chosen.properties["MOVED_FROM"]) == ("key", "T b:0 40")
    assert {row.sharding_key for row in rows} == {"T b:0", "T b:1", "key"}


def test_only_long_bodies_and_wide_properties_take_a_closer_look(spark):
    """32,767 bytes of properties is the most that a message has."""
    body = "repeat('x', {}) body"
    wide = "map('wide', repeat('宽', {})) properties"
    kinds = [(1_024, 10_300, False), (1_025, 1, True), (1, 10_700, True)]
    rows = [
        spark.range(1).selectExpr(body.format(body_bytes), wide.format(letters)) for body_bytes, letters, _ in kinds
    ]
    looked = rows[0].unionAll(rows[1]).unionAll(rows[2]).select(takes_a_closer_look(1_024)).collect()
    assert [row[0] for row in looked] == [expected for *_, expected in kinds]
