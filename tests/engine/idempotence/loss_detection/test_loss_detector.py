"""The interceptor: what it notes, and when."""

from __future__ import annotations

import pytest

from engine.client.callbacks.consume_message_hook import ConsumeMessageContext
from engine.idempotence.loss_detection.judge import judge
from engine.idempotence.loss_detection.loss_detector import LossDetector, NotedWhen
from engine.idempotence.loss_detection.number_book import Sighting
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt
from engine.protocol.message.numbering_ledger import PRODUCER_ID_PROPERTY, SEQUENCE_NUMBER_PROPERTY


def message(number, offset, end=""):
    properties = {PRODUCER_ID_PROPERTY: "shop@1", SEQUENCE_NUMBER_PROPERTY: str(number), "MAX_OFFSET": end}
    return MessageExt(
        topic="Orders",
        body=b"x",
        properties=properties,
        queue_id=0,
        queue_offset=offset,
        commit_log_offset=0,
        born_timestamp=0,
        born_host="10.0.0.1:1",
        store_timestamp=1_000,
        store_host="10.0.0.2:10911",
    )


def call(detector, *messages, success=True, topic="Orders"):
    context = ConsumeMessageContext("billing", MessageQueue(topic, "B1", 0), messages)
    detector.consume_message_before(context)
    context.success = success
    detector.consume_message_after(context)


@pytest.mark.parametrize(("when", "met"), [(NotedWhen.DELIVERED, 2), (NotedWhen.CONSUMED, 1)])
def test_a_failed_call_counts_as_delivered_only(when, met):
    detector = LossDetector(when=when)
    call(detector, message(0, 0))
    call(detector, message(1, 1), success=False)
    (topic,) = judge([detector.report])
    assert topic.producers[0].met == met


def test_what_was_handed_out_and_never_consumed_is_missing_and_no_unseen_place():
    detector = LossDetector(when=NotedWhen.CONSUMED)
    call(detector, message(0, 0), success=False)
    call(detector, message(1, 1), success=False)
    call(detector, message(2, 2))
    call(detector, message(0, 0), topic="%RETRY%billing")
    (topic,) = judge([detector.report])
    assert (topic.lost, topic.certainly_lost, topic.unseen) == (1, 1, 0)
    assert topic.producers[0].lost_ranges == ((1, 1),)


def test_a_retry_is_the_same_message_once_more():
    reported = []
    detector = LossDetector(watcher=lambda one, sighting: reported.append(sighting))
    call(detector, message(0, 0), message(1, 1))
    call(detector, message(1, 0), topic="%RETRY%billing")
    call(detector, message(1, 7))
    assert reported == [Sighting.NEW, Sighting.NEW, Sighting.AGAIN, Sighting.TWICE]
    assert [queue for _, queue in detector.report.queues] == ["B1:0"]


def test_where_the_queue_ended_when_it_was_pulled_tells_what_is_still_unseen():
    detector = LossDetector()
    call(detector, message(0, 0, end="9"), message(1, 1, end="nonsense"))
    (topic,) = judge([detector.report])
    assert topic.unseen == 7
