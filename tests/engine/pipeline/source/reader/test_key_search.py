"""Messages of a key by the index of a broker that answers as RocketMQ does: the newest 64, by hash, to the second."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.decoding.stored_batch import message_starts
from engine.pipeline.source.reader import key_search
from engine.pipeline.source.reader.key_search import find_key
from engine.pipeline.source.reader.offset_range import OffsetRange
from engine.pipeline.source.reader.options import ReadOptions
from engine.protocol.command.headers import QueryMessageRequestHeader
from engine.protocol.response_code import ResponseCode
from tests.support.live.scripted_broker import stored_message

OPTIONS = ReadOptions.parse({"nameServer": "127.0.0.1:9876", "topic": "Orders", "key": "K"})


class Index(Cluster):
    """A cluster whose broker has an index: message N of queue 0 was stored at the Nth of these times (ms)."""

    def __init__(self, times_ms, refuses=False):
        super().__init__(OPTIONS.cluster)
        self._masters["broker-a"] = "127.0.0.1:10911"
        self.messages = [
            (time_ms, stored_message(number, stored_ms=time_ms)) for number, time_ms in enumerate(times_ms)
        ]
        self.refuses = refuses
        self.answers = 0

    def refresh_master(self, topic, broker_name):
        return self.master(broker_name)

    def ask_broker(self, broker_name, topic, requests):
        (request,) = requests
        header = QueryMessageRequestHeader.decode(request.ext_fields)
        self.answers += 1
        if self.refuses:
            return [request.reply(ResponseCode.NO_PERMISSION, "no")]
        known = [data for time_ms, data in self.messages if time_ms // 1_000 * 1_000 <= header.end_timestamp]
        page = known[-min(header.max_num, 64) :]
        code = ResponseCode.SUCCESS if page else ResponseCode.QUERY_NOT_FOUND
        return [request.reply(code, body=b"".join(page))]

    def find(self, start=0, end=1_000_000, queue_id=0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(key_search, "Cluster", lambda _: self)
            return find_key(OPTIONS, [OffsetRange(QueueKey("Orders", "broker-a", queue_id), "", start, end)], "K")

    def bodies(self, first, last):
        return b"".join(data for _, data in self.messages[first:last])


@given(st.lists(st.integers(20, 900), max_size=400), st.integers(0, 400), st.integers(0, 400))
def test_all_messages_of_the_range_are_found_in_order_however_many_answers_that_takes(gaps, start, end):
    index = Index(accumulate(gaps, initial=1_000))
    found = index.find(start, end)
    assert b"".join(answer.body for answer in found) == index.bodies(start, end)
    assert index.answers <= 2 + len(gaps) // 10


def test_an_index_that_holds_nothing_gives_nothing():
    assert Index([]).find() == []


def test_messages_of_other_queues_are_left_out():
    assert Index([1, 2]).find(queue_id=1) == []


@pytest.mark.parametrize("count", [64, 100])
def test_more_messages_of_one_second_than_an_answer_holds_are_not_found_by_the_index(count):
    assert Index([5_000] * count).find() is None
    (found,) = Index([5_000] * 63).find()
    assert len(message_starts(found.body)) == 63


def test_too_many_messages_of_a_key_are_left_to_the_scan():
    index = Index(range(0, 64 * 200 * 100, 100))
    assert index.find() is None
    assert index.answers == 100


def test_a_refusal_is_an_error_and_not_an_empty_result():
    with pytest.raises(RocketMQError, match="ROCKETMQ_REFUSED"):
        Index([1], refuses=True).find()
