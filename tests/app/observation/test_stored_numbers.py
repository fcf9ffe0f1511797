"""What the live page says of the numbers that producers gave, by what a broker in a lab world stores."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from app.metrics.number_metrics import number_families
from app.observation import stored_numbers
from app.observation.stored_numbers import StoredNumbers
from app.watch.facts import facts_of
from engine.idempotence.loss_detection.judge import SETTLING_MS, judge
from engine.protocol.command.headers import DeleteTopicRequestHeader, UpdateConsumerOffsetRequestHeader
from engine.protocol.message.compression import ZLIB_SYSTEM_FLAG, compress_body
from engine.protocol.message.numbering_ledger import LEDGER_BYTES_MAX, NUMBERING_LEDGER_TOPIC, NumberingLedger
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import broker_lab
from tests.support.live.healthy_facts import HEALTHY
from tests.support.live.read_numbers import see_all

P = "shop@1"


@pytest.fixture
def lab():
    with broker_lab() as lab:
        lab.client().create_topic("Orders", queues=2)
        yield lab


def send(lab, *numbers, topic="Orders", queue_id=0, producer=P):
    client = lab.client(f"client {producer} {queue_id} {numbers[0]}")
    for number in numbers:
        properties = {} if number is None else {"PRODUCER_ID": producer, "SEQUENCE_NUMBER": str(number)}
        reply = client.send(topic, b"x", queue_id=queue_id, properties=properties)
        assert reply.code == ResponseCode.SUCCESS


def report(lab, ledger):
    client = lab.client(f"reporter {ledger.producer_id}")
    client.create_topic(NUMBERING_LEDGER_TOPIC, queues=1)
    assert client.send(NUMBERING_LEDGER_TOPIC, ledger.encode()).code == ResponseCode.SUCCESS


def test_a_topic_without_numbers_is_not_read(lab):
    send(lab, None, None)
    seen = StoredNumbers(lab.broker)
    assert see_all(seen) is None
    assert not seen.report.queues


def test_gaps_over_all_queues_are_open_first_and_missing_later(lab):
    send(lab, 0, 2, 4, 9, 9)
    send(lab, 1, 5, 3, queue_id=1)
    seen = StoredNumbers(lab.broker)
    topic = see_all(seen)["topics"]["Orders"]
    assert (topic["stored"], topic["missing"], topic["open"]) == (7, 0, 3)
    lab.run_for(SETTLING_MS + 2_000)
    topic = see_all(seen)["topics"]["Orders"]
    assert (topic["missing"], topic["open"], topic["twice"], topic["out_of_order"]) == (3, 0, 1, 1)
    assert topic["producers"][0]["ranges"] == [[6, 8]]
    json.dumps(seen.view)


def test_what_the_ledger_explains_is_not_missing_and_what_it_tells_of_the_end_is(lab):
    send(lab, 0, 1, 4)
    report(lab, NumberingLedger(P, "Orders", 8, refused=((2, 2),), unknown=((3, 3),)))
    lab.run_for(SETTLING_MS + 2_000)
    topic = see_all(StoredNumbers(lab.broker))["topics"]["Orders"]
    assert (topic["refused"], topic["unknown"], topic["missing"]) == (1, 1, 3)
    (producer,) = topic["producers"]
    assert (producer["has_ended"], producer["ranges"], producer["unknown_ranges"]) == (True, [[5, 7]], [[3, 3]])


def test_a_ledger_of_a_producer_that_was_never_seen_counts_where_the_topic_was_read_from_its_beginning(
    lab, monkeypatch
):
    report(lab, NumberingLedger("gone@1", "Orders", 2))
    send(lab, *range(6))
    lab.run_for(SETTLING_MS + 2_000)
    topic = see_all(StoredNumbers(lab.broker))["topics"]["Orders"]
    assert {one["producer"]: one["missing"] for one in topic["producers"]} == {"gone@1": 2, P: 0}
    monkeypatch.setattr(stored_numbers, "START_BACK", 3)
    topic = see_all(StoredNumbers(lab.broker))["topics"]["Orders"]
    assert {one["producer"]: (one["first"], one["missing"]) for one in topic["producers"]} == {P: (3, 0)}


def test_a_look_is_bounded_and_nothing_is_judged_before_all_queues_are_read(lab, monkeypatch):
    monkeypatch.setattr(stored_numbers, "LOOK_MAX", 10)
    send(lab, *range(0, 60, 2))
    send(lab, 1, queue_id=1)
    lab.run_for(SETTLING_MS + 2_000)
    send(lab, *range(3, 61, 2), queue_id=1)
    seen = StoredNumbers(lab.broker)
    seen._find_topics()
    looks = 1
    while seen.look():
        looks += 1
        view = seen._view(judge([seen.report], seen._until_ms()))
        assert view["topics"]["Orders"]["missing"] == 0
        assert view["unread"] > 0
    assert looks >= 6
    assert see_all(seen)["unread"] == 0


def test_a_ledger_takes_no_more_memory_than_a_ledger_may_and_a_look_reads_one_of_a_queue(lab):
    client = lab.client("reporter")
    client.create_topic(NUMBERING_LEDGER_TOPIC, queues=1)
    for _ in range(2):
        sent = client.send(NUMBERING_LEDGER_TOPIC, compress_body(bytes(32 << 20)), sys_flag=ZLIB_SYSTEM_FLAG)
        assert sent.code == ResponseCode.SUCCESS
    report(lab, NumberingLedger(P, "Orders", 8))
    send(lab, 0)
    seen = StoredNumbers(lab.broker)
    seen._find_topics()
    tracemalloc.start()
    looks = [seen.look() for _ in range(3)]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert looks == [True, True, False]
    assert peak_bytes < 4 * LEDGER_BYTES_MAX
    assert seen.report.books["Orders", P].ledger.numbered == 8


def test_a_topic_that_is_deleted_is_forgotten(lab):
    send(lab, 0, 2)
    seen = StoredNumbers(lab.broker)
    assert see_all(seen) is not None
    assert lab.client("admin").call(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader("Orders")).code == 0
    assert see_all(seen) is None


def test_how_far_groups_have_acknowledged_is_counted_in_messages(lab):
    send(lab, 0, None, 1, 2)
    header = UpdateConsumerOffsetRequestHeader("billing", "Orders", 0, 3)
    assert lab.client("c").call(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == ResponseCode.SUCCESS
    topic = see_all(StoredNumbers(lab.broker))["topics"]["Orders"]
    assert (topic["groups"], topic["read"]) == ({"billing": 3}, 4)


def test_producers_beyond_what_a_page_lists_are_counted(lab, monkeypatch):
    monkeypatch.setattr(stored_numbers, "PRODUCERS_LISTED", 2)
    for producer in ("a@1", "b@1", "c@1"):
        send(lab, 0, 2, producer=producer)
    lab.run_for(SETTLING_MS + 2_000)
    view = see_all(StoredNumbers(lab.broker))
    topic = view["topics"]["Orders"]
    assert (len(topic["producers"]), view["omitted"], topic["missing"]) == (2, 1, 3)


def test_the_verdict_hears_of_what_is_missing(lab):
    send(lab, 0, 3)
    lab.run_for(SETTLING_MS + 2_000)
    view = see_all(StoredNumbers(lab.broker))
    assert facts_of({**HEALTHY, "numbers": view}).missing_numbers == {"Orders": 2}
    assert facts_of({**HEALTHY, "numbers": None}).missing_numbers == {}
    # Its ledger makes the missing ones unknown: they are not there for that.
    report(lab, NumberingLedger(P, "Orders", 4, unknown=((1, 2),)))
    lab.run_for(SETTLING_MS + 2_000)
    facts = facts_of({**HEALTHY, "numbers": see_all(StoredNumbers(lab.broker))})
    assert (facts.missing_numbers, facts.unknown_numbers) == ({"Orders": 0}, {"Orders": 2})


def test_every_count_of_the_view_is_a_metric(lab):
    send(lab, 0, 3)
    view = see_all(StoredNumbers(lab.broker))
    topic = view["topics"]["Orders"]
    counts = {name for name, value in topic.items() if isinstance(value, int)} - {"numbered", "read"}
    families = {family.name for family in number_families(view)}
    assert families == {f"glassmq_numbers_{name}" for name in (*counts, "unread", "no_room")}


def test_a_producer_of_which_numbers_are_unknown_is_listed_before_those_of_whom_nothing_is_missing(lab, monkeypatch):
    monkeypatch.setattr(stored_numbers, "PRODUCERS_LISTED", 1)
    send(lab, 0, 1, producer="a@1")
    send(lab, 0, 2, producer="b@1")
    report(lab, NumberingLedger("b@1", "Orders", 3, unknown=((1, 1),)))
    lab.run_for(SETTLING_MS + 2_000)
    (producer,) = see_all(StoredNumbers(lab.broker))["topics"]["Orders"]["producers"]
    assert (producer["producer"], producer["unknown"]) == ("b@1", 1)
