import json

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.body.bodies import GetConsumerListByGroupResponseBody, LockBatchRequestBody, LockBatchResponseBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import (
    GetConsumerListByGroupRequestHeader,
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.store.files.store_config import MessageStoreConfig
from tests.engine.broker.lab_broker import LabClient, broker_lab

QUEUES = tuple(MessageQueue("T", "broker-a", queue_id) for queue_id in range(4))


def query(client: LabClient, queue_id: int = 0, topic: str = "T") -> RemotingCommand:
    header = QueryConsumerOffsetRequestHeader("consumers", topic, queue_id)
    return client.call(RequestCode.QUERY_CONSUMER_OFFSET, header)


def update(client: LabClient, offset: int, queue_id: int = 0, topic: str = "T") -> RemotingCommand:
    header = UpdateConsumerOffsetRequestHeader("consumers", topic, queue_id, offset)
    return client.call(RequestCode.UPDATE_CONSUMER_OFFSET, header)


def lock(client: LabClient, queues: tuple[MessageQueue, ...] = QUEUES) -> tuple[MessageQueue, ...]:
    body = LockBatchRequestBody("consumers", f"{client.name}@1", queues)
    reply = client.call(RequestCode.LOCK_BATCH_MQ, body=body.to_json())
    assert reply.code == ResponseCode.SUCCESS
    return LockBatchResponseBody.from_json(reply.body).lock_ok_mq_set


def test_the_members_of_a_group_are_listed_while_connected():
    with broker_lab() as lab:
        first, second = lab.client("first"), lab.client("second")
        first.heartbeat()
        second.heartbeat()
        header = GetConsumerListByGroupRequestHeader("consumers")
        reply = first.call(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
        assert GetConsumerListByGroupResponseBody.from_json(reply.body).consumer_id_list == ("first@1", "second@1")
        lab.world.crash("second")
        lab.run_for(10)
        reply = first.call(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
        assert json.loads(reply.body) == {"consumerIdList": ["first@1"]}
        missing = GetConsumerListByGroupRequestHeader("nobody")
        assert first.call(RequestCode.GET_CONSUMER_LIST_BY_GROUP, missing).code == ResponseCode.SYSTEM_ERROR


# --- offsets ---------------------------------------------------------------------------------------------------------


def test_a_stored_offset_is_returned_and_the_last_writer_wins():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        assert update(client, 5).code == ResponseCode.SUCCESS
        assert query(client).ext_fields == {"offset": "5"}
        update(client, 3)
        assert query(client).ext_fields == {"offset": "3"}


def test_a_new_group_on_a_young_queue_begins_at_0():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        assert query(client).ext_fields == {"offset": "0"}
        client.send()
        assert query(client).ext_fields == {"offset": "0"}


def test_a_new_group_on_a_queue_whose_beginning_is_far_back_is_answered_22():
    config = MessageStoreConfig(access_message_in_memory_max_bytes=1_000)
    with broker_lab(store_config=config) as lab:
        client = lab.client()
        for _ in range(10):
            client.send(body=b"x" * 100)
        assert query(client).code == ResponseCode.QUERY_NOT_FOUND
        assert query(client, queue_id=1).ext_fields == {"offset": "0"}


@pytest.mark.parametrize(
    ("topic", "queue_id", "offset", "code"),
    [("Nowhere", 0, 1, 17), ("T", 4, 1, 1), ("T", -1, 1, 1), ("T", 0, -1, 1)],
)
def test_an_offset_that_cannot_be_is_refused_and_not_kept(topic, queue_id, offset, code):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 4)
        reply = update(client, offset, queue_id, topic)
        assert (reply.code, bool(reply.remark)) == (code, True)
        assert lab.broker.consumer_offset_manager.offset_table == {}


def test_offset_entries_are_bounded():
    with broker_lab(BrokerConfig(max_consumer_offset_entries=1)) as lab:
        client = lab.client()
        client.create_topic("T")
        client.create_topic("U")
        assert update(client, 1).code == ResponseCode.SUCCESS
        assert update(client, 1, topic="U").code == ResponseCode.SYSTEM_ERROR
        assert update(client, 2, queue_id=3).code == ResponseCode.SUCCESS


# --- locks -----------------------------------------------------------------------------------------------------------


def test_a_lock_expires_after_its_lease_and_not_before():
    with broker_lab() as lab:
        first, second = lab.client("first"), lab.client("second")
        assert lock(first) == QUEUES
        lab.run_for(59_000)
        assert lock(second) == ()
        lab.run_for(2_000)
        assert lock(second) == QUEUES


def test_a_killed_owner_s_lock_stays_until_the_lease_has_run_out():
    with broker_lab() as lab:
        first, second = lab.client("first"), lab.client("second")
        lock(first, QUEUES[:1])
        lab.world.crash("first")
        lab.run_for(30_000)
        assert lock(second) == QUEUES[1:]
        lab.run_for(31_000)
        assert lock(second) == QUEUES


def test_an_unlocked_queue_is_free_at_once():
    with broker_lab() as lab:
        first, second = lab.client("first"), lab.client("second")
        lock(first)
        body = LockBatchRequestBody("consumers", "first@1", QUEUES[:2])
        assert first.call(RequestCode.UNLOCK_BATCH_MQ, body=body.to_json()).code == ResponseCode.SUCCESS
        assert lock(second) == QUEUES[:2]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b'{"consumerGroup":"g","clientId":"","mqSet":[]}',
        b'{"consumerGroup":"g g","clientId":"c","mqSet":[]}',
        b'{"consumerGroup":"g","clientId":"c","mqSet":[{"topic":"T","brokerName":"b","queueId":-1}]}',
        b'{"consumerGroup":"g","clientId":"c","mqSet":7}',
    ],
)
def test_a_bad_lock_request_is_refused_with_its_reason(body):
    with broker_lab() as lab:
        client = lab.client()
        for code in (RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ):
            reply = client.call(code, body=body)
            assert reply.code == ResponseCode.SYSTEM_ERROR
            assert "internal error" not in (reply.remark or "internal error")
        assert len(lab.broker.rebalance_lock_manager) == 0
