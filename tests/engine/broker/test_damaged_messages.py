"""What clients see of a message whose body changed in the commit log: nothing, by whatever way they ask for it."""

from __future__ import annotations

import struct

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.command.headers import (
    EndTransactionRequestHeader,
    QueryMessageRequestHeader,
    ViewMessageRequestHeader,
)
from engine.protocol.message.record_layout import MESSAGE_MAGIC
from engine.protocol.names import SCHEDULE_TOPIC, TRANSACTION_HALF_TOPIC
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import BrokerLab, broker_lab
from tests.engine.broker.transactions.test_transactions import COMMIT, bank

_BODY_AT = 88


def _damage(lab: BrokerLab, topic: str, queue_offset: int = 0, queue_id: int = 0) -> int:
    """Change a letter of that message's body where it lies; returns where."""
    log = lab.broker.store.commit_log
    ((place, _, _),) = lab.broker.store.consume_queue_entries(topic, queue_id, queue_offset, 1)
    file = log.files.find(place)
    assert file is not None
    file.file.write_at(place - file.start_offset + _BODY_AT, b"?")
    return place


@pytest.mark.parametrize("subscription", ["*", "TagA", "TagA || TagB"])
def test_a_pull_brings_the_others_with_their_offsets(subscription):
    with broker_lab() as lab:
        client = lab.client()
        for number in range(10):
            client.send(body=b"%d" % number, tags="TagA")
        _damage(lab, "T", 4)
        found = client.messages(subscription=subscription)
        assert [(message.queue_offset, message.body) for message in found] == [
            (number, b"%d" % number) for number in range(10) if number != 4
        ]


def test_a_filter_by_expression_does_not_see_it_either():
    with broker_lab(BrokerConfig(enable_property_filter=True)) as lab:
        client = lab.client()
        for number in range(4):
            client.send(body=b"%d" % number, properties={"age": "3"})
        _damage(lab, "T", 1)
        client.heartbeat(subscriptions={"T": "age = 3"}, expression_type="SQL92")
        found = client.messages(subscription=None, expression_type="SQL92")
        assert [message.body for message in found] == [b"0", b"2", b"3"]


def test_it_is_found_by_no_key_and_at_no_place():
    with broker_lab() as lab:
        client = lab.client()
        client.send(keys="k")
        place = _damage(lab, "T")
        view = client.call(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(place))
        assert view.code == ResponseCode.SYSTEM_ERROR
        query = QueryMessageRequestHeader("T", "k", 32, 0, 1 << 62)
        assert client.call(RequestCode.QUERY_MESSAGE, query).code == ResponseCode.QUERY_NOT_FOUND


def test_it_cannot_be_sent_back():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        (message,) = client.messages()
        _damage(lab, "T")
        assert client.send_back(message).code == ResponseCode.SYSTEM_ERROR


def test_a_delayed_one_does_not_hold_up_those_behind_it():
    with broker_lab() as lab:
        client = lab.client()
        for number in range(3):
            client.send(body=b"%d" % number, delay_level=1)
        _damage(lab, SCHEDULE_TOPIC, 1)
        lab.run_for(2_000)
        assert [message.body for message in client.messages()] == [b"0", b"2"]
        assert len(lab.broker.store.commit_log.damaged_records) == 1


def test_a_half_one_is_never_committed_and_those_behind_it_are_checked():
    with bank() as transactions:
        reply = transactions.send("first")
        transactions.send("second")
        _damage(transactions.lab, TRANSACTION_HALF_TOPIC, 0)
        header = EndTransactionRequestHeader(
            producer_group="payments",
            tran_state_table_offset=0,
            commit_log_offset=int(reply.ext_fields["msgId"][-16:], 16),
            commit_or_rollback=COMMIT,
            msg_id="U-first",
            transaction_id="U-first",
        )
        ended = transactions.producer.call(RequestCode.END_TRANSACTION, header)
        assert ended.code == ResponseCode.SYSTEM_ERROR
        transactions.lab.run_for(21_000)
        asked = [request.body for request in transactions.producer.notified if request.body]
        assert asked
        assert not any(b"first" in body for body in asked)
        assert any(b"second" in body for body in asked)
        assert transactions.stored("T", 2) == []


def test_what_looks_like_a_damaged_message_within_a_body_is_no_damage():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        store = lab.broker.store
        at = store.commit_log.max_offset + _BODY_AT
        forged = struct.pack(">iiIi4xqqi44xi", 120, MESSAGE_MAGIC, 1, 0, 0, at, 0, 10).ljust(120, b"\x01")
        assert client.send(body=forged).code == ResponseCode.SUCCESS
        assert store.commit_log.read_bytes(at, len(forged)) == forged
        reply = client.call(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset=at))
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert store.commit_log.damaged_records.found == 0
