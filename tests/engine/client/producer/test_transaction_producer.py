"""A transactional producer, its broker and a consumer, in one lab world."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.client import (
    ConsumeConcurrentlyStatus,
    IllegalClientArgument,
    LocalTransactionState,
    Message,
    MessageExt,
    MQClientError,
    SendStatus,
    TransactionMQProducer,
)
from engine.protocol.request_code import RequestCode
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig
from tests.support.lab.lab_cluster import LabCluster
from tests.support.lab.lab_faults import DropsRequests

COMMIT, ROLLBACK, UNKNOW = (
    LocalTransactionState.COMMIT_MESSAGE,
    LocalTransactionState.ROLLBACK_MESSAGE,
    LocalTransactionState.UNKNOW,
)


class Listener:
    """Answers as configured and notes its calls."""

    def __init__(self, executed: object = COMMIT, checked: object = COMMIT) -> None:
        self.executed: object = executed
        self.checked: object = checked
        self.executions: list[tuple[bytes, object]] = []
        self.checks: list[MessageExt] = []

    def execute_local_transaction(self, message, argument):
        self.executions.append((message.body, argument))
        if isinstance(self.executed, BaseException):
            raise self.executed
        return self.executed

    async def check_local_transaction(self, message):
        self.checks.append(message)
        if isinstance(self.checked, BaseException):
            raise self.checked
        return self.checked


class Bank:
    """A started cluster with one transactional producer and one consumer."""

    def __init__(self, cluster: LabCluster, listener: Listener) -> None:
        self.cluster = cluster
        self.listener = listener
        self.delivered: list[MessageExt] = []
        self.producer = self.new_producer("P")
        consumer = cluster.push_consumer("C", "consumers")
        consumer.subscribe("Transfers")
        consumer.register_message_listener(self._consume)
        cluster.start(consumer)
        cluster.run(self.producer, self.producer.create_topic("Transfers", 2))
        cluster.world.run_for(31_000)  # until routes and heartbeats are known everywhere

    def new_producer(self, node: str) -> TransactionMQProducer:
        producer = TransactionMQProducer(
            self.cluster.world.node(node), "payments", self.cluster.name_server_address, self.listener
        )
        self.cluster.start(producer)
        return producer

    def _consume(self, messages, context):
        self.delivered += messages
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    def send(self, body: bytes = b"10000", argument: object = None, **message: Any):
        work = self.producer.send_message_in_transaction(Message("Transfers", body, **message), argument)
        return self.cluster.run(self.producer, work)

    def wait(self, duration_ms: int) -> list[bytes]:
        self.cluster.world.run_for(duration_ms)
        return [message.body for message in self.delivered]


@pytest.fixture
def listener():
    return Listener()


@pytest.fixture
def bank(listener):
    with LabCluster() as cluster:
        yield Bank(cluster, listener)


def test_a_committed_message_is_delivered_after_the_local_transaction(bank, listener):
    result = bank.send(b"10000", "account A", tags="TAGA", keys="t-1")
    assert result.local_transaction_state is COMMIT
    assert result.send_result.status is SendStatus.SEND_OK
    assert result.send_result.transaction_id == result.send_result.message_id
    assert listener.executions == [(b"10000", "account A")]
    assert bank.wait(1_000) == [b"10000"]
    (message,) = bank.delivered
    assert (message.tags, message.keys, message.unique_id) == ("TAGA", ("t-1",), result.send_result.message_id)
    bank.wait(200_000)
    assert (len(bank.delivered), listener.checks) == (1, [])


def test_a_rolled_back_message_is_never_delivered(bank, listener):
    listener.executed = ROLLBACK
    assert bank.send().local_transaction_state is ROLLBACK
    assert (bank.wait(300_000), listener.checks) == ([], [])


@pytest.mark.parametrize("answer", [UNKNOW, None, RuntimeError("no connection to the database"), "yes"])
def test_whoever_does_not_know_is_asked_later(bank, listener, answer):
    listener.executed = answer
    assert bank.send(tags="TAGC").local_transaction_state is UNKNOW
    assert bank.wait(5_000) == []
    assert bank.wait(70_000) == [b"10000"]
    (asked,) = listener.checks
    assert (asked.body, asked.topic, asked.tags) == (b"10000", "Transfers", "TAGC")


def test_a_check_may_roll_back_or_not_know_either(bank, listener):
    listener.executed, listener.checked = UNKNOW, RuntimeError("still no connection")
    bank.send()
    bank.wait(130_000)
    assert len(listener.checks) == 2
    listener.checked = ROLLBACK
    assert bank.wait(200_000) == []
    assert len(listener.checks) == 3


def test_a_cancellation_that_a_check_brings_from_within_does_not_end_the_checks(bank, listener):
    listener.executed, listener.checked = UNKNOW, asyncio.CancelledError()
    bank.send()
    bank.wait(130_000)
    assert len(listener.checks) == 2
    listener.checked = COMMIT
    assert bank.wait(70_000) == [b"10000"]


def test_a_half_message_that_may_not_be_durable_is_rolled_back_without_the_local_transaction(listener):
    store = MessageStoreConfig(mapped_file_size_commit_log=1 << 20, flush_disk_type=FlushDiskType.SYNC_FLUSH)
    with LabCluster(store_config=store) as cluster:
        bank = Bank(cluster, listener)
        cluster.world.storages["broker-a"].flush_us = 10_000_000
        work = bank.producer.send_message_in_transaction(Message("Transfers", b"10000"), timeout_ms=20_000)
        result = cluster.run(bank.producer, work)
        assert result.send_result.status is SendStatus.FLUSH_DISK_TIMEOUT
        assert result.local_transaction_state is ROLLBACK
        assert listener.executions == []
        assert bank.wait(200_000) == []


def test_nothing_is_begun_when_the_half_message_cannot_be_sent(bank, listener):
    bank.cluster.world.crash("broker-a")
    with pytest.raises(MQClientError):
        bank.send()
    assert listener.executions == []


def test_another_member_of_the_group_answers_for_one_that_died(bank, listener):
    listener.executed = UNKNOW
    bank.send()
    bank.cluster.world.crash("P")
    other = bank.new_producer("P2")
    bank.cluster.run(other, other.fetch_publish_message_queues("Transfers"))
    assert bank.wait(125_000) == [b"10000"]
    assert len(listener.checks) == 1


def test_a_member_that_has_only_just_started_and_sent_nothing_is_asked_too(bank, listener):
    listener.executed = UNKNOW
    bank.send()
    bank.cluster.world.crash("P")
    bank.new_producer("P2")
    assert bank.wait(125_000) == [b"10000"]
    assert len(listener.checks) == 1


def test_a_lost_end_is_made_up_for_by_a_check(bank, listener):
    drops = DropsRequests("P", RequestCode.END_TRANSACTION)
    bank.cluster.world.network.faults.append(drops)
    bank.send()
    assert (bank.wait(2_000), drops.dropped) == ([], 1)
    bank.cluster.world.network.faults.remove(drops)
    assert bank.wait(70_000) == [b"10000"]
    assert len(listener.checks) == 1


def test_delay_and_a_missing_listener_are_refused(bank):
    with pytest.raises(IllegalClientArgument, match="DELAY"):
        bank.send(delay_level=3)
    producer = TransactionMQProducer(bank.cluster.world.node("X"), "payments", bank.cluster.name_server_address)
    with pytest.raises(IllegalClientArgument, match="transaction_listener"):
        bank.cluster.start(producer)
