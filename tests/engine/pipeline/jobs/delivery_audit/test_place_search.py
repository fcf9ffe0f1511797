"""Where a stream finds numbers again: in the batches that can hold them, a few per report."""

from __future__ import annotations

import json
import threading

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.jobs.delivery_audit import place_search
from engine.pipeline.jobs.delivery_audit.locating import PLACES_MAX
from engine.pipeline.jobs.delivery_audit.place_search import PlaceSearch
from tests.engine.pipeline.jobs.delivery_audit.numbered_messages import (
    Stored,
    message_table,
    plain_segments,
    with_offsets,
)

#: One queue, three messages per batch; number 2 is there twice, and the last copy comes late.
BATCHES = [[Stored("p", number, 0) for number in numbers] for numbers in ([0, 1, 2], [4, 5, 6], [7, 8, 9], [2, 10, 11])]


class ReadRanges:
    """The broker: returns the messages between the offsets, and notes which it was asked for: queue -> range.

    :ivar unreadable: ranges that cannot be read.
    """

    def __init__(self, frame):
        self.frame, self.ranges, self.unreadable = frame, [], []

    def __call__(self, *, assign, startingOffsets, endingOffsets, **_):  # noqa: N803 - Spark's names
        starts, ends = (json.loads(offsets)["T"] for offsets in (startingOffsets, endingOffsets))
        assert json.loads(assign) == {"T": list(starts)}
        ranges = {int(queue.removeprefix("broker-a:")): (first, ends[queue]) for queue, first in starts.items()}
        self.ranges.append(ranges)
        if ranges in self.unreadable:
            raise PySparkException("broker-a does not answer")
        is_asked = F.lit(False)
        for queue, (first, end) in ranges.items():
            is_asked |= (F.col("queue_id") == queue) & F.col("queue_offset").between(first, end - 1)
        return self.frame.where(is_asked)


@pytest.fixture
def search_of(spark):
    """Returns a search in these batches."""

    def search_of(batches):
        messages = [message for batch in batches for message in batch]
        search = PlaceSearch(ReadRanges(spark.createDataFrame(message_table(messages))), threading.Event())
        placed = iter(with_offsets(messages))
        for number, batch in enumerate(batches):
            search.add(number, plain_segments([next(placed) for _ in batch]))
        return search

    return search_of


@pytest.fixture
def search(search_of):
    return search_of(BATCHES)


def ranges(search):
    """The ranges of queue 0 that were read since the last question."""
    read, search._read.ranges = search._read.ranges, []
    return [of_queue[0] for of_queue in read]


def found(search, *numbers):
    return search.places({("p", "T"): numbers})["p", "T"]


def offsets(search, *numbers):
    places = found(search, *numbers).items()
    return {number: [place.arguments["offset"] for place in of_number.first] for number, of_number in places}


def test_only_batches_that_can_hold_a_number_are_read_and_each_once(search):
    assert offsets(search, 2) == {2: [2, 9]}
    assert ranges(search) == [(0, 3), (9, 12)]
    assert offsets(search, 2, 5) == {2: [2, 9], 5: [4]}
    # The last batch has numbers from 2 to 11.
    assert ranges(search) == [(3, 6), (9, 12)]


def test_a_known_number_is_searched_only_in_what_has_come_since(search):
    assert found(search, 2)[2].are_all
    ranges(search)
    search.add(4, plain_segments([(7, Stored("p", 8, 0))]))
    search.add(5, plain_segments([(2, Stored("p", 2, 0))]))
    assert offsets(search, 2) == {2: [2, 9, 2]}
    assert ranges(search) == [(2, 3)]


@pytest.mark.parametrize(
    ("limit", "value"), [("BATCHES_PER_REPORT_MAX", 1), ("MESSAGES_PER_REPORT_MAX", 3)], ids=["batches", "messages"]
)
def test_a_report_reads_little_and_says_so_and_the_next_one_goes_on(search, monkeypatch, limit, value):
    monkeypatch.setattr(place_search, limit, value)
    places = found(search, 2)[2]
    assert (places.total, places.are_all, search.has_more) == (1, False, True)
    assert ranges(search) == [(0, 3)]
    places = found(search, 2)[2]
    assert (places.total, places.are_all, search.has_more) == (2, True, False)
    assert ranges(search) == [(9, 12)]


def test_when_the_audit_ends_no_further_batch_is_read(search):
    search._stop.set()
    assert offsets(search, 2) == {2: []}
    assert ranges(search) == []


@pytest.mark.parametrize("error", [PySparkException("broker-a does not answer"), Py4JError("the executor is lost")])
def test_a_read_that_fails_while_spark_works_is_repeated_by_the_next_report(search, monkeypatch, error):
    def collect(_frame):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(type(search._read.frame), "collect", collect)
        assert offsets(search, 4) == {4: []}
    assert search.has_more
    assert offsets(search, 4) == {4: [3]}


def test_a_batch_that_cannot_be_read_does_not_hide_the_others_and_is_left_out(search):
    search._read.unreadable = [{0: (0, 3)}]
    assert offsets(search, 2) == {2: []}
    assert offsets(search, 2) == {2: [9]}
    assert (found(search, 2)[2].are_all, search.has_more) == (False, False)
    assert ranges(search) == [(0, 3), (9, 12), (0, 3), (0, 3)]
    assert offsets(search, 2) == {2: [9]}
    assert ranges(search) == []


def test_several_queues_and_producers_of_a_batch_are_read_together(search_of):
    search = search_of(
        [[Stored("p", 0, 0), Stored("p", 0, 1), Stored("r", 5, 1), Stored("r", 6, 0), Stored("p", 9, 1)]]
    )
    places = search.places({("p", "T"): [0], ("r", "T"): [5]})
    read = {
        (producer, number): [(place.arguments["queue"], place.arguments["offset"]) for place in of_number.first]
        for (producer, _), numbers in places.items()
        for number, of_number in numbers.items()
    }
    assert read == {("p", 0): [("broker-a:0", 0), ("broker-a:1", 0)], ("r", 5): [("broker-a:1", 1)]}
    # The message of r in queue 0 has another number.
    assert search._read.ranges == [{0: (0, 1), 1: (0, 3)}]


def test_of_many_places_all_are_counted_and_the_first_named(search_of):
    search = search_of([[Stored("p", 0, 0)] * (PLACES_MAX - 1), [Stored("p", 0, 0)] * (PLACES_MAX + 2)])
    places = found(search, 0)[0]
    assert places.total == 2 * PLACES_MAX + 1
    assert [place.arguments["offset"] for place in places.first] == list(range(PLACES_MAX))


def test_the_oldest_extents_are_forgotten_and_what_is_found_then_may_not_be_all(search_of, monkeypatch):
    monkeypatch.setattr(place_search, "EXTENTS_MAX", 3)
    search = search_of(BATCHES)
    assert [extent.batch for extent in search.extents] == [1, 2, 3]
    places = found(search, 2)[2]
    assert (places.total, places.are_all) == (1, False)


def test_a_batch_that_is_forgotten_before_it_was_read_is_awaited_no_longer(search_of, monkeypatch):
    monkeypatch.setattr(place_search, "EXTENTS_MAX", 4)
    search = search_of(BATCHES)
    search._stop.set()
    assert offsets(search, 1) == {1: []}
    assert search.has_more
    search.add(4, plain_segments([(12, Stored("p", 12, 0))]))
    assert not search.has_more
    assert not found(search, 1)[1].are_all


def test_messages_without_a_number_have_no_extent(search):
    search.add(4, plain_segments([(12, Stored(None, 0, 0))]))
    assert len(search.extents) == len(BATCHES)
