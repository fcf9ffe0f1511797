"""Where a stream finds numbers again: in the batches that can hold them, a few per report."""

from __future__ import annotations

import json

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.jobs.delivery_audit import place_search
from engine.pipeline.jobs.delivery_audit.place_search import PlaceSearch
from tests.engine.pipeline.jobs.delivery_audit.numbered_messages import (
    Stored,
    message_table,
    plain_segments,
    with_offsets,
)

#: One queue, three messages per batch; number 2 is there twice, and the last copy comes late.
BATCHES = [[0, 1, 2], [4, 5, 6], [7, 8, 9], [2, 10, 11]]
MESSAGES = [Stored("p", number, 0) for numbers in BATCHES for number in numbers]


class ReadRanges:
    """The broker: returns the messages between the offsets, and notes which it was asked for."""

    def __init__(self, spark):
        self.ranges, self.is_away = [], False
        self._stored = spark.createDataFrame(message_table(MESSAGES))

    def __call__(self, *, assign, startingOffsets, endingOffsets, **_):  # noqa: N803 - Spark's names
        if self.is_away:
            raise PySparkException("broker-a does not answer")
        assert json.loads(assign) == {"T": ["broker-a:0"]}
        first, end = (json.loads(offsets)["T"]["broker-a:0"] for offsets in (startingOffsets, endingOffsets))
        self.ranges.append((first, end))
        return self._stored.where(F.col("queue_offset").between(first, end - 1))


@pytest.fixture
def broker(spark):
    return ReadRanges(spark)


@pytest.fixture
def search(broker):
    search = PlaceSearch(broker)
    placed = with_offsets(MESSAGES)
    for batch in range(len(BATCHES)):
        search.add(batch, plain_segments(placed[3 * batch : 3 * batch + 3]))
    return search


def offsets(search, *numbers):
    found = search.places({("p", "T"): numbers})["p", "T"]
    return {number: [place.arguments["offset"] for place in places.first] for number, places in found.items()}


def test_only_batches_that_can_hold_a_number_are_read_and_each_once(search, broker):
    assert offsets(search, 2) == {2: [2, 9]}
    assert broker.ranges == [(0, 3), (9, 12)]
    assert offsets(search, 2, 5) == {2: [2, 9], 5: [4]}
    # The last batch has numbers from 2 to 11.
    assert broker.ranges[2:] == [(3, 6), (9, 12)]


def test_a_report_reads_few_batches_and_the_next_one_goes_on(search, broker, monkeypatch):
    monkeypatch.setattr(place_search, "BATCHES_PER_REPORT_MAX", 1)
    assert offsets(search, 2) == {2: [2]}
    assert offsets(search, 2) == {2: [2, 9]}
    assert len(broker.ranges) == 2


def test_while_the_broker_is_away_places_are_unknown_and_the_next_report_finds_them(search, broker):
    broker.is_away = True
    assert offsets(search, 4) == {4: []}
    broker.is_away = False
    assert offsets(search, 4) == {4: [3]}


def test_extents_are_bounded_and_messages_without_a_number_have_none(search):
    search.add(4, plain_segments([(12, Stored(None, 0, 0))]))
    assert len(search.extents) == len(BATCHES)
    assert search.extents.maxlen == place_search.EXTENTS_MAX
