"""What a stream reports while no message comes, and when it ends."""

from __future__ import annotations

import json
import threading

import pytest

from engine.pipeline.jobs.delivery_audit import following, place_search
from engine.pipeline.jobs.delivery_audit.description import DESCRIPTION
from engine.pipeline.jobs.delivery_audit.following import Follower, FollowRules
from engine.pipeline.jobs.delivery_audit.locating import NumberPlaces
from engine.protocol.message.numbering_ledger import NUMBERING_LEDGER_TOPIC
from engine.protocol.names import TRACE_TOPIC
from engine.texts import Text
from tests.engine.pipeline.jobs.delivery_audit.numbered_messages import Stored, message_table
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.waiting import wait_until

PATIENCE_S = 60
#: Number 0 is stored again in the later batches, at offsets 2 and 4.
BATCHES = [[Stored("p", 0, 0), Stored("p", 1, 0)], [Stored("p", 0, 0), Stored("p", 3, 0)], [Stored("p", 0, 0)]]


class Stream:
    """A follower whose batches are read again at a broker that answers with the first message of each range."""

    def __init__(self, spark, folder, monkeypatch):
        self._spark, self._folder = spark, folder
        self._table = message_table([message for batch in BATCHES for message in batch])
        self.reads, self.before_reading = [], lambda: None
        # Each batch needs a report of its own.
        monkeypatch.setattr(place_search, "BATCHES_PER_REPORT_MAX", 1)
        monkeypatch.setattr(place_search, "narrow", lambda messages: messages)
        monkeypatch.setattr(place_search, "locate", self._locate)

    def start(self, grace_ms=0):
        """A driver that has just been started."""
        rules = FollowRules(("T",), (), TRACE_TOPIC, NUMBERING_LEDGER_TOPIC, 100, grace_ms, 100)
        self.report = MemoryReport()
        self.follower = Follower(
            self._spark, str(self._folder), rules, self.report, trigger_ms=1, read=self._read, has_trace=False
        )

    def add(self, number):
        self.follower.add_batch(self._spark.createDataFrame(self._table.slice(2 * number, 2)), number)

    def _read(self, *, startingOffsets, **_):  # noqa: N803 - Spark's name
        self.before_reading()
        self.reads.append(json.loads(startingOffsets)["T"]["broker-a:0"])
        return self.reads[-1]

    def _locate(self, offset, wanted):
        places = NumberPlaces(1, (Text("job.where.place", queue="broker-a:0", offset=offset),))
        return {key: dict.fromkeys(numbers, places) for key, numbers in wanted.items()}

    def where(self):
        rows = self.report.rows(DESCRIPTION, "findings")
        return next((row["where"] for row in rows if row["kind"] == "duplicated"), None)


@pytest.fixture
def stream(spark, tmp_path, monkeypatch):
    return Stream(spark, tmp_path, monkeypatch)


def test_while_nothing_comes_places_are_searched_on_also_in_batches_before_a_restart(stream):
    stream.start()
    stream.add(0)
    stream.add(1)
    stream.follower.conclude()
    stream.start()
    stream.add(2)
    places = "broker-a:0 offset 0; broker-a:0 offset 2; broker-a:0 offset 4"
    wait_until(lambda: stream.where() == places, "all places", seen=stream.where)
    is_alone = []
    stream.report.note = lambda text: is_alone.append(stream.follower._lock.locked())
    stream.follower.conclude()
    assert is_alone
    assert all(is_alone)


def test_a_report_that_is_in_progress_at_the_end_does_not_follow_the_conclusion(stream, monkeypatch):
    monkeypatch.setattr(following, "_LAST_WORD_S", 0)
    is_reading, goes_on = threading.Event(), threading.Event()

    def wait():
        if threading.current_thread() is stream.follower._idle:
            is_reading.set()
            assert goes_on.wait(PATIENCE_S)

    stream.before_reading = wait
    stream.start()
    stream.add(0)
    stream.add(1)
    assert is_reading.wait(PATIENCE_S)
    timer = stream.follower._idle
    stream.follower.conclude()
    stream.report.tables.clear()
    goes_on.set()
    timer.join(PATIENCE_S)
    assert not stream.report.tables
    assert stream.follower._idle is timer


def test_a_timer_that_waited_while_a_batch_was_added_does_not_judge_it(stream):
    stream.start(grace_ms=3_600_000)
    stream.add(0)
    stream.add(1)
    assert not stream.follower.book.producers["p", "T"].verdict().lost
    stream.follower._judge_when_idle()
    assert not stream.follower.book.producers["p", "T"].verdict().lost
    stream.follower.conclude()
