"""Numbers of messages: who gets which, what a failure does to them, what the ledger tells."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.client import DefaultMQProducer, LocalTransactionState, Message, TransactionMQProducer
from engine.client.foundation.errors import MQClientError
from engine.client.producer.message_numbering import MessageNumbering, NumberRanges
from engine.lab.run.run import LabRun
from engine.protocol.errors import MalformedBody
from engine.protocol.message.numbering_ledger import (
    LEDGER_BYTES_MAX,
    LEDGER_RANGES_MAX,
    NUMBERING_LEDGER_TOPIC,
    PRODUCER_ID_PROPERTY,
    SEQUENCE_NUMBER_PROPERTY,
    NumberingLedger,
)
from tests.support.lab.lab_cluster import LabCluster
from tests.support.lab.lab_scenarios import run_to_ms, small


def numbered_producer(cluster: LabCluster, name: str = "N", **settings) -> DefaultMQProducer:
    producer = cluster.producer(name, "numbered", number_messages=True, **settings)
    cluster.start(producer)
    cluster.run(producer, producer.create_topic("T", queue_nums=2))
    return producer


def stored(cluster: LabCluster, topic: str):
    store = cluster.broker.store
    for queue_id in range(8):
        for offset, _, _ in store.consume_queue_entries(topic, queue_id, 0, 1_000):
            yield store.message_at(offset)


def numbers_in(cluster: LabCluster, topic: str) -> list[int]:
    return sorted(int(message.properties[SEQUENCE_NUMBER_PROPERTY]) for message in stored(cluster, topic))


def ledgers_in(cluster: LabCluster) -> list[NumberingLedger]:
    cluster.world.run_for(3_000)
    ledgers = [NumberingLedger.decode(bytes(message.body)) for message in stored(cluster, NUMBERING_LEDGER_TOPIC)]
    return sorted(ledgers, key=lambda ledger: ledger.topic, reverse=True)


def test_messages_of_all_kinds_of_send_are_numbered_without_gaps_per_topic(cluster):
    producer = numbered_producer(cluster)

    async def send_all():
        await producer.send(Message("T", b"one"))
        await producer.send_batch([Message("T", b"two"), Message("T", b"three")])
        await producer.send_oneway(Message("T", b"four"))
        await producer.send_async(Message("T", b"five"), lambda _result, _error: None)
        await producer.send(Message("Other", b"zero"))

    cluster.run(producer, send_all())
    cluster.run(producer, producer.shutdown())
    assert numbers_in(cluster, "T") == [0, 1, 2, 3, 4]
    assert numbers_in(cluster, "Other") == [0]
    assert {message.properties[PRODUCER_ID_PROPERTY] for message in stored(cluster, "T")} == {
        producer.numbering.producer_id
    }
    # Nobody answers a oneway send.
    assert ledgers_in(cluster) == [
        NumberingLedger(producer.numbering.producer_id, "T", 5, unknown=((3, 3),)),
        NumberingLedger(producer.numbering.producer_id, "Other", 1),
    ]


def test_a_restarted_producer_is_another_one_and_begins_anew(cluster):
    first, second = numbered_producer(cluster), numbered_producer(cluster, "N2")
    cluster.run(first, first.send(Message("T", b"one")))
    cluster.run(second, second.send(Message("T", b"one")))
    assert numbers_in(cluster, "T") == [0, 0]
    assert first.numbering.producer_id != second.numbering.producer_id


def test_a_message_that_is_refused_is_in_the_ledger_and_what_is_never_sent_has_no_number(cluster):
    producer = numbered_producer(cluster, retry_response_codes=(), max_message_size=5_000_000)

    async def send_some():
        with pytest.raises(MQClientError):
            await producer.send(Message("T", b""))
        with pytest.raises(MQClientError):
            await producer.send(Message("T", bytes(range(256)) * 19_000, tags="too-long-for-the-broker"), timeout_ms=0)
        await producer.send(Message("T", b"stored"))

    cluster.run(producer, send_some())
    cluster.run(producer, producer.shutdown())
    assert numbers_in(cluster, "T") == [1]
    assert ledgers_in(cluster) == [NumberingLedger(producer.numbering.producer_id, "T", 2, refused=((0, 0),))]


def test_a_message_that_is_sent_again_keeps_its_number_and_is_no_longer_reported_as_refused(cluster):
    producer = numbered_producer(cluster)
    message = Message("T", b"twice")

    async def send_twice():
        with pytest.raises(MQClientError):
            await producer.send(message, timeout_ms=0)
        await producer.send(message)

    cluster.run(producer, send_twice())
    assert numbers_in(cluster, "T") == [0]
    assert list(producer.numbering.ledgers()) == [NumberingLedger(producer.numbering.producer_id, "T", 1)]


def test_a_rolled_back_transaction_and_an_open_one_are_no_losses(cluster):
    class Listener:
        async def execute_local_transaction(self, message, argument):
            return argument

        async def check_local_transaction(self, message):
            return LocalTransactionState.UNKNOW

    producer = TransactionMQProducer(
        cluster.world.node("N"), "numbered", cluster.name_server_address, Listener(), number_messages=True
    )
    cluster.start(producer)

    async def pay():
        for state in LocalTransactionState:
            await producer.send_message_in_transaction(Message("T", state.name.encode()), state)

    cluster.run(producer, pay())
    states = [state.name for state in LocalTransactionState]
    (ledger,) = producer.numbering.ledgers()
    rolled_back, unknown = states.index("ROLLBACK_MESSAGE"), states.index("UNKNOW")
    assert (ledger.numbered, ledger.refused, ledger.unknown) == (
        3,
        ((rolled_back, rolled_back),),
        ((unknown, unknown),),
    )
    assert numbers_in(cluster, "T") == [states.index("COMMIT_MESSAGE")]


def test_a_producer_without_numbering_numbers_nothing_and_leaves_no_ledger(cluster, producer):
    cluster.run(producer, producer.send(Message("T", b"plain")))
    cluster.run(producer, producer.shutdown())
    (message,) = stored(cluster, "T")
    assert SEQUENCE_NUMBER_PROPERTY not in message.properties
    assert ledgers_in(cluster) == []


def test_what_is_under_way_when_the_ledger_is_written_is_unknown():
    async def main():
        numbering, reply = MessageNumbering("me"), asyncio.Event()
        numbers = numbering.number("T", [{}, {}])
        sending = asyncio.create_task(numbering.note("T", numbers, reply.wait()))
        await asyncio.sleep(0)
        assert list(numbering.ledgers()) == [NumberingLedger("me", "T", 2, unknown=((0, 1),))]
        reply.set()
        await sending

    asyncio.run(main())


def test_a_number_of_another_producer_is_replaced():
    properties = {PRODUCER_ID_PROPERTY: "else", SEQUENCE_NUMBER_PROPERTY: "77"}
    assert MessageNumbering("me").number("T", [properties, {}]) == [0, 1]
    assert properties == {PRODUCER_ID_PROPERTY: "me", SEQUENCE_NUMBER_PROPERTY: "0"}


def test_traffic_of_the_lab_can_be_numbered():
    with LabRun(small(('body: "body {n}"', 'body: "body {n}", numbered: true'))) as run:
        run_to_ms(run, 5_000)
        store = run.world.brokers()[0].broker.store
        found = [
            store.message_at(offset).properties[SEQUENCE_NUMBER_PROPERTY]
            for queue_id in range(4)
            for offset, _, _ in store.consume_queue_entries("T", queue_id, 0, 100)
        ]
    assert sorted(map(int, found)) == list(range(len(found)))
    assert len(found) >= 2


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 40), max_size=6))))
def test_ranges_are_a_set(changes):
    ranges, model = NumberRanges(), set()
    for adds, numbers in changes:
        (ranges.add if adds else ranges.discard)(numbers)
        model = model | set(numbers) if adds else model - set(numbers)
    listed = ranges.ranges()
    assert [number for first, last in listed for number in range(first, last + 1)] == sorted(model)
    assert all(after[0] > before[1] + 1 for before, after in itertools.pairwise(listed))


def test_more_ranges_than_a_ledger_holds_make_it_incomplete():
    ranges = NumberRanges()
    ranges.add(range(0, 6 * LEDGER_RANGES_MAX, 2))
    assert len(ranges.ranges()) == LEDGER_RANGES_MAX
    assert not ranges.is_complete


def ledger_text(numbered: str = "9", refused: str = "[]") -> bytes:
    fields = f'"producerId":"p","topic":"T","numbered":{numbered},"refused":{refused},"unknown":[],"isComplete":true'
    return f"{{{fields}}}".encode()


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"\xff", b'{"producerId":"p"}', ledger_text().replace(b'"p"', b"1")]
    + [ledger_text(numbered=text) for text in ("-1", "true", '"1"')]
    + [
        ledger_text(refused=text)
        for text in ("[[2,1]]", "[[1]]", "[1]", '[["a","b"]]', "[[3,4],[1,2]]", "[[1,2],[2,3]]")
    ]
    + [
        ledger_text(refused=str([[number, number] for number in range(LEDGER_RANGES_MAX + 1)])),
        ledger_text(refused="[]" + " " * LEDGER_BYTES_MAX),
    ],
    ids=lambda body: repr(body[:60]),
)
def test_what_is_no_ledger_is_refused(body):
    with pytest.raises(MalformedBody):
        NumberingLedger.decode(body)


def test_the_longest_ledger_that_a_producer_can_write_is_not_too_long():
    last = (1 << 62) - 1
    ranges = tuple((last - 2 * place, last - 2 * place) for place in reversed(range(LEDGER_RANGES_MAX)))
    ledger = NumberingLedger("p" * 255, "T" * 127, last, ranges, ranges)
    assert NumberingLedger.decode(ledger.encode()) == ledger


def test_a_ledger_survives_its_journey():
    ledger = NumberingLedger("p@1", "T", 9, ((1, 2),), ((4, 4),), is_complete=False)
    assert NumberingLedger.decode(ledger.encode()) == ledger
