"""Transactions of Kafka's producers, from the producer to the consumer: in the lab, and on real sockets and files."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kafka.broker.transaction_coordinator import Transaction, TransactionState
from engine.kafka.client.consumer_config import IsolationLevel
from engine.kafka.client.errors import IllegalTransactionStep, ProducerFenced, SendRefused, TransactionFailed
from engine.kafka.client.kafka_producer import KafkaProducer
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record_batch import read_header
from engine.runtime.port import DiskFault
from tests.support.kafka.clusters import ORDERS, Cluster, run_cluster
from tests.support.tiers import examples


@pytest.fixture(params=["lab", "uvloop"])
def run(request, tmp_path):
    return lambda scenario: run_cluster(request.param, tmp_path, scenario)


@pytest.fixture
def lab(tmp_path):
    return lambda scenario: run_cluster("lab", tmp_path, scenario)


async def transactional(cluster: Cluster, name: str = "shop", **settings: object) -> KafkaProducer:
    producer = cluster.producer(transactional_id=name, linger_ms=0, **settings)
    await producer.init_transactions()
    return producer


async def send(producer: KafkaProducer, *values: bytes, partition: int = 0, topic: str = "Orders") -> None:
    for result in [await producer.send(topic, value, partition=partition) for value in values]:
        await result


async def read_all(cluster: Cluster, isolation: IsolationLevel = IsolationLevel.READ_COMMITTED) -> list[bytes | None]:
    """All that such a consumer gets of ``Orders`` now."""
    consumer = cluster.consumer(isolation_level=isolation, fetch_max_wait_ms=10, enable_auto_commit=False)
    values: list[bytes | None] = []
    for _ in range(20):
        for records in (await consumer.poll(10)).values():
            values += [record.value for record in records]
    await consumer.close()
    return values


def log_of(cluster: Cluster):
    return cluster.broker.partitions.logs[ORDERS]


def kept(cluster: Cluster) -> Transaction:
    """What the coordinator knows of ``shop``."""
    assert cluster.broker.transactions is not None
    return cluster.broker.transactions.transactions["shop"]


async def restart(cluster: Cluster, *, is_clean: bool) -> None:
    """Another process of the broker on the same disk and address."""
    address = cluster.address
    if not is_clean:
        for log in cluster.broker.partitions.logs.values():
            log.close(is_clean=False)
        cluster.broker.partitions.logs.clear()
    await cluster.broker.shutdown()
    again = Cluster(cluster.server, cluster.client)
    host, _, port = address.rpartition(":")
    await again.broker.start(host, int(port))
    cluster.broker = again.broker


def test_what_is_committed_comes_and_what_is_aborted_never_does(run):
    async def scenario(cluster):
        producer = await transactional(cluster)
        producer.begin_transaction()
        await send(producer, b"a", b"b")
        await producer.commit_transaction()
        producer.begin_transaction()
        await send(producer, b"never")
        await producer.abort_transaction()
        producer.begin_transaction()
        await send(producer, b"c")
        await producer.commit_transaction()
        await producer.close()
        assert await read_all(cluster) == [b"a", b"b", b"c"]
        everything = await read_all(cluster, IsolationLevel.READ_UNCOMMITTED)
        assert everything == [b"a", b"b", b"never", b"c"], "markers are nobody's records"
        assert log_of(cluster).log_end_offset == 7, "but they take offsets: four records, three markers"

    run(scenario)


def test_a_transaction_that_is_open_holds_back_what_others_have_committed_behind_it(lab):
    async def scenario(cluster):
        slow, quick = await transactional(cluster, "slow"), await transactional(cluster, "quick")
        slow.begin_transaction()
        await send(slow, b"slow")
        quick.begin_transaction()
        await send(quick, b"quick")
        await quick.commit_transaction()
        await send(cluster.producer(), b"plain")
        assert await read_all(cluster) == []
        assert log_of(cluster).last_stable_offset == 0
        await slow.commit_transaction()
        assert await read_all(cluster) == [b"slow", b"quick", b"plain"], "in the order of the log, not of the commits"

    lab(scenario)


def test_both_partitions_of_a_transaction_get_the_same_end(lab):
    async def scenario(cluster):
        producer = await transactional(cluster)
        producer.begin_transaction()
        await send(producer, b"order")
        await send(producer, b"mail", topic="Mails", partition=2)
        assert [str(place) for place in kept(cluster).places] == ["Orders-0", "Mails-2"]
        assert kept(cluster).state is TransactionState.ONGOING
        await producer.commit_transaction()
        assert kept(cluster).state is TransactionState.COMPLETE_COMMIT
        ends = {str(place): log.log_end_offset for place, log in cluster.broker.partitions.logs.items()}
        assert ends == {"Orders-0": 2, "Mails-0": 0, "Mails-1": 0, "Mails-2": 2}

    lab(scenario)


def test_who_begins_with_the_same_id_aborts_and_fences_the_one_before(lab):
    async def scenario(cluster):
        first = await transactional(cluster)
        first.begin_transaction()
        await send(first, b"left behind")
        second = await transactional(cluster)
        assert second.transactions.owner.producer_id == first.transactions.owner.producer_id
        assert second.transactions.owner.epoch > first.transactions.owner.epoch
        second.begin_transaction()
        await send(second, b"goes on")
        with pytest.raises(SendRefused):
            await send(first, b"too late")
        with pytest.raises(ProducerFenced, match="'shop'"):
            await first.commit_transaction()
        with pytest.raises(ProducerFenced):
            first.begin_transaction()
        await second.commit_transaction()
        assert await read_all(cluster) == [b"goes on"]

    lab(scenario)


def test_what_is_open_for_too_long_is_aborted_and_its_producer_fenced(lab):
    async def scenario(cluster):
        producer = await transactional(cluster, transaction_timeout_ms=5_000)
        producer.begin_transaction()
        await send(producer, b"forgotten")
        await send(cluster.producer(), b"plain")
        await asyncio.sleep(25)
        assert await read_all(cluster) == [b"plain"]
        with pytest.raises(ProducerFenced):
            await producer.commit_transaction()

    lab(scenario)


def test_a_record_that_is_given_up_leaves_nothing_but_abort_and_then_all_is_well_again(lab):
    async def scenario(cluster):
        producer = await transactional(cluster)
        producer.begin_transaction()
        await send(producer, b"fits")
        with pytest.raises(SendRefused) as refused:
            await send(producer, bytes(2_000_000))
        assert refused.value.code is KafkaErrorCode.MESSAGE_TOO_LARGE
        with pytest.raises(TransactionFailed, match="only be aborted"):
            await send(producer, b"more")
        with pytest.raises(TransactionFailed, match="only aborted"):
            await producer.commit_transaction()
        await producer.abort_transaction()
        producer.begin_transaction()
        await send(producer, b"again")
        await producer.commit_transaction()
        assert await read_all(cluster) == [b"again"]

    lab(scenario)


def test_a_partition_that_is_not_there_fails_the_transaction(lab):
    async def scenario(cluster):
        producer = await transactional(cluster)
        producer.begin_transaction()
        with pytest.raises(SendRefused, match="Orders-7 cannot join the transaction: UNKNOWN_TOPIC_OR_PARTITION"):
            await send(producer, b"nowhere", partition=7)
        await producer.abort_transaction()
        assert await read_all(cluster, IsolationLevel.READ_UNCOMMITTED) == []

    lab(scenario)


def test_steps_out_of_turn_are_refused_by_name(lab):
    async def scenario(cluster):
        with pytest.raises(IllegalTransactionStep, match="no transactional_id"):
            cluster.producer().begin_transaction()
        producer = cluster.producer(transactional_id="shop")
        with pytest.raises(IllegalTransactionStep, match=r"begin_transaction is not allowed .* uninitialized"):
            producer.begin_transaction()
        await producer.init_transactions()
        with pytest.raises(IllegalTransactionStep, match=r"send is not allowed .* ready"):
            await producer.send("Orders", b"x", partition=0)
        with pytest.raises(IllegalTransactionStep, match=r"commit_transaction is not allowed .* ready"):
            await producer.commit_transaction()
        with pytest.raises(SendRefused, match="INVALID_TRANSACTION_TIMEOUT"):
            await transactional(cluster, transaction_timeout_ms=900_001)

    lab(scenario)
    with pytest.raises(ValueError, match="needs enable_idempotence"):
        KafkaProducerConfig("host:1", transactional_id="shop", enable_idempotence=False)


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_restart_keeps_what_is_open_what_was_aborted_and_who_may_go_on(lab, is_clean):
    async def scenario(cluster):
        producer = await transactional(cluster)
        producer.begin_transaction()
        await send(producer, b"never")
        await producer.abort_transaction()
        producer.begin_transaction()
        await send(producer, b"before")
        await restart(cluster, is_clean=is_clean)
        assert await read_all(cluster) == [], "it is undecided"
        await send(producer, b"after")
        await producer.commit_transaction()
        assert await read_all(cluster) == [b"before", b"after"]

    lab(scenario)


def test_what_was_decided_before_a_crash_is_carried_out_after_it(lab, monkeypatch):
    async def scenario(cluster):
        producer = await transactional(cluster)
        producer.begin_transaction()
        await send(producer, b"decided")
        kept(cluster).go(TransactionState.PREPARE_COMMIT)
        await cluster.broker.transactions._keep(kept(cluster))  # and here the process ends: no marker is written
        await restart(cluster, is_clean=False)
        assert await read_all(cluster) == [b"decided"]
        assert kept(cluster).state is TransactionState.COMPLETE_COMMIT
        await producer.commit_transaction()
        assert log_of(cluster).log_end_offset == 2, "who asks again gets no second marker"

    lab(scenario)


def test_an_end_that_a_failing_disk_has_stopped_goes_on_when_it_works_again(lab, monkeypatch):
    async def scenario(cluster):
        producer = await transactional(cluster)
        producer.begin_transaction()
        await send(producer, b"decided")

        def fail(marker):
            raise DiskFault("the disk does not answer")

        with monkeypatch.context() as broken:
            broken.setattr(log_of(cluster), "append_marker", fail)
            with pytest.raises(SendRefused, match="KAFKA_STORAGE_ERROR"):
                await producer.commit_transaction()
            await asyncio.sleep(25)
            assert kept(cluster).state is TransactionState.PREPARE_COMMIT
        await asyncio.sleep(25)
        await producer.commit_transaction()
        assert await read_all(cluster) == [b"decided"]

    lab(scenario)


def test_a_batch_of_a_transaction_that_was_ended_comes_too_late(lab):
    async def scenario(cluster):
        producer = await transactional(cluster)
        producer.begin_transaction()
        await send(producer, b"in time")
        handlers = cluster.broker.handlers
        data = log_of(cluster).read(0, 1_000).data
        late = data[: read_header(data).size_bytes]
        await producer.commit_transaction()
        with pytest.raises(KafkaRefusal, match="not part of an open transaction of shop"):
            handlers._transactions.check_may_append("shop", late, ORDERS)

    lab(scenario)


@settings(max_examples=examples(quick=15, full=100))
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["commit", "abort", "stay", "restart"])),
        min_size=1,
        max_size=8,
    )
)
def test_whoever_reads_committed_gets_the_committed_records_in_the_order_of_the_log(tmp_path_factory, story):
    """Several producers take turns; one of them may have a transaction open while the others go on."""

    async def scenario(cluster):
        producers = [await transactional(cluster, f"shop-{number}") for number in range(3)]
        pending: dict[int, list[bytes]] = {}
        sent: list[bytes] = []
        committed: dict[bytes, None] = {}
        for step, (who, count, action) in enumerate(story):
            producer = producers[who]
            if who not in pending:
                producer.begin_transaction()
                pending[who] = []
            values = [b"%d-%d-%d" % (step, who, number) for number in range(count)]
            await send(producer, *values)
            pending[who] += values
            sent += values
            if action == "restart":
                await restart(cluster, is_clean=step % 2 == 0)
            elif action != "stay":
                await (producer.commit_transaction() if action == "commit" else producer.abort_transaction())
                committed.update(dict.fromkeys(pending.pop(who) if action == "commit" else ()))
                pending.pop(who, None)
        undecided = {value: None for values in pending.values() for value in values}
        first = next((number for number, value in enumerate(sent) if value in undecided), len(sent))
        assert await read_all(cluster) == [value for value in sent[:first] if value in committed]
        for who in pending:
            await producers[who].abort_transaction()
        assert await read_all(cluster) == [value for value in sent if value in committed]
        assert await read_all(cluster, IsolationLevel.READ_UNCOMMITTED) == sent

    run_cluster("lab", tmp_path_factory.mktemp("story"), scenario)
