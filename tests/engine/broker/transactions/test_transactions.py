"""Half messages from their sending to their end, as a producer lives through them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.command.headers import (
    CheckTransactionStateRequestHeader,
    EndTransactionRequestHeader,
    ResumeCheckHalfMessageRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.message_id import encode_offset_message_id
from engine.protocol.names import (
    TRANSACTION_CHECK_GROUP,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
)
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.lab.lab_clock import WORLD_BEGIN_MS
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab

COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
CONFIG = BrokerConfig(transaction_time_out_ms=6_000, transaction_check_interval_ms=10_000, transaction_check_max=3)

AS_ROCKETMQ = dataclasses.replace(CONFIG, commit_transaction_once=False)


@contextmanager
def bank(config: BrokerConfig = CONFIG, store_config: MessageStoreConfig | None = None) -> Iterator[TransactionLab]:
    with broker_lab(config, store_config) as lab:
        yield TransactionLab(lab)


class TransactionLab:
    """A producer of group "payments" that is connected, and the contents of the broker's topics."""

    def __init__(self, lab: BrokerLab) -> None:
        self.lab = lab
        self.producer = lab.client("producer")
        self.producer.heartbeat("idle", {}, producer_groups=("payments",))
        self.producer.create_topic("T")

    @property
    def now_ms(self) -> int:
        return self.lab.broker.runtime.clock.now_ms()

    def send(self, key: str = "k", *, born_timestamp: int = WORLD_BEGIN_MS, **properties: str) -> RemotingCommand:
        return self.producer.send(
            "T",
            key.encode(),
            queue_id=2,
            sys_flag=4,
            tags="TagA",
            properties={"TRAN_MSG": "true", "PGROUP": "payments", "UNIQ_KEY": f"U-{key}", "KEYS": key} | properties,
            born_timestamp=born_timestamp,
        )

    def stored(self, topic: str, queue_id: int = 0) -> list[MessageExt]:
        result = self.lab.broker.store.get_message("test", topic, queue_id, 0, 32)
        return [decode_stored_message(result.data, at) for at in positions(result.data)]

    @property
    def halves(self) -> list[MessageExt]:
        return self.stored(TRANSACTION_HALF_TOPIC)

    @property
    def newest_half(self) -> MessageExt:
        store = self.lab.broker.store
        newest = store.max_offset(TRANSACTION_HALF_TOPIC, 0) - 1
        ((place, _, _),) = store.consume_queue_entries(TRANSACTION_HALF_TOPIC, 0, newest, 1)
        half = store.message_at(place)
        assert half is not None
        return half

    @property
    def ops(self) -> list[bytes]:
        return [message.body for message in self.stored(TRANSACTION_OP_HALF_TOPIC)]

    @property
    def visible(self) -> list[bytes]:
        return [message.body for message in self.stored("T", 2)]

    def end(self, half: MessageExt, decision: int, **changes: Any) -> RemotingCommand:
        header = EndTransactionRequestHeader(
            "payments", half.queue_offset, half.commit_log_offset, decision, msg_id=half.unique_id
        )
        return self.producer.call(RequestCode.END_TRANSACTION, dataclasses.replace(header, **changes))

    @property
    def checks(self) -> list[tuple[CheckTransactionStateRequestHeader, MessageExt]]:
        return checks_of(self.producer)

    @property
    def offsets(self) -> tuple[int, int]:
        service = self.lab.broker.transactional_message_service
        return service.half_offset, service.op_offset


def positions(buffer: bytes) -> Iterator[int]:
    at = 0
    while at < len(buffer):
        yield at
        at += int.from_bytes(buffer[at : at + 4], "big")


def checks_of(client: LabClient) -> list[tuple[CheckTransactionStateRequestHeader, MessageExt]]:
    return [
        (CheckTransactionStateRequestHeader.decode(command.ext_fields), decode_stored_message(command.body))
        for command in client.notified
        if command.code == RequestCode.CHECK_TRANSACTION_STATE
    ]


# --- the half message ------------------------------------------------------------------------------------------------


def test_a_half_message_is_stored_where_no_consumer_looks():
    with bank() as lab:
        reply = lab.send("k1")
        assert reply.code == ResponseCode.SUCCESS
        assert reply.ext_fields["queueId"] == "2"
        assert reply.ext_fields["queueOffset"] == "0"
        assert reply.ext_fields["transactionId"] == "U-k1"
        assert lab.visible == []
        (half,) = lab.halves
        assert (half.body, half.tags, half.keys, half.sys_flag & 0xC) == (b"k1", "TagA", ("k1",), 0)
        assert half.properties["REAL_TOPIC"] == "T"
        assert half.properties["REAL_QID"] == "2"
        assert half.properties["PGROUP"] == "payments"


@pytest.mark.parametrize(
    ("properties", "named"),
    [({"DELAY": "3"}, "DELAY"), ({"PGROUP": ""}, "PGROUP")],
)
def test_a_transactional_message_that_cannot_be_is_refused(properties, named):
    with bank() as lab:
        reply = lab.send(**properties)
        assert reply.code == ResponseCode.MESSAGE_ILLEGAL
        assert named in (reply.remark or "")
        assert lab.halves == []


def test_transaction_bits_without_the_property_are_refused():
    with broker_lab() as lab:
        for sys_flag in (4, 8, 12):
            assert lab.client().send(sys_flag=sys_flag).code == ResponseCode.MESSAGE_ILLEGAL


def test_a_broker_may_take_no_transactional_messages_at_all():
    with bank(dataclasses.replace(CONFIG, reject_transaction_message=True)) as lab:
        reply = lab.send()
        assert reply.code == ResponseCode.NO_PERMISSION
        assert "rejectTransactionMessage" in (reply.remark or "")


# --- its end ---------------------------------------------------------------------------------------------------------


def test_a_committed_message_appears_in_its_real_topic_and_is_marked_as_decided():
    with bank() as lab:
        lab.send("k1")
        (half,) = lab.halves
        assert lab.end(half, COMMIT).code == ResponseCode.SUCCESS
        (message,) = lab.stored("T", 2)
        assert (message.body, message.tags, message.keys, message.unique_id) == (b"k1", "TagA", ("k1",), "U-k1")
        assert message.sys_flag & 0xC == 8
        assert message.prepared_transaction_offset == half.commit_log_offset
        assert message.born_host == half.born_host
        assert lab.ops == [b"0"]


def test_a_rolled_back_message_is_never_seen():
    with bank() as lab:
        lab.send()
        assert lab.end(lab.halves[0], ROLLBACK).code == ResponseCode.SUCCESS
        lab.lab.run_for(120_000)
        assert (lab.visible, lab.ops, lab.checks) == ([], [b"0"], [])


def test_unknown_changes_nothing():
    with bank() as lab:
        lab.send()
        assert lab.end(lab.halves[0], UNKNOWN).code == ResponseCode.SUCCESS
        assert (lab.visible, lab.ops) == ([], [])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"producer_group": "others"}, "payments"),
        ({"tran_state_table_offset": 7}, "tranStateTableOffset"),
        ({"commit_log_offset": 12_345}, "12345"),
        ({"commit_or_rollback": 4}, "allowed"),
    ],
)
def test_an_end_that_does_not_mean_the_half_message_is_refused(changes, named):
    with bank() as lab:
        lab.send()
        reply = lab.end(lab.halves[0], COMMIT, **changes)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert named in (reply.remark or "")
        assert (lab.visible, lab.ops) == ([], [])


def test_a_message_that_is_no_half_message_cannot_be_committed():
    with bank() as lab:
        lab.send()
        lab.end(lab.halves[0], COMMIT)
        (delivered,) = lab.stored("T", 2)
        assert lab.end(delivered, COMMIT).code == ResponseCode.SYSTEM_ERROR
        assert lab.visible == [b"k"]


def test_a_second_commit_delivers_the_message_a_second_time_only_if_it_is_to_be_as_in_rocketmq():
    with bank() as lab:
        lab.send()
        (half,) = lab.halves
        lab.end(half, COMMIT)
        again = lab.end(half, COMMIT)
        assert again.code == ResponseCode.SYSTEM_ERROR
        assert "commitTransactionOnce" in (again.remark or "")
        assert (lab.visible, lab.ops) == ([b"k"], [b"0"])
    with bank(AS_ROCKETMQ) as lab:
        lab.send()
        (half,) = lab.halves
        lab.end(half, COMMIT)
        lab.end(half, COMMIT)
        assert lab.visible == [b"k", b"k"]


# --- checks ----------------------------------------------------------------------------------------------------------


def test_a_sender_that_is_silent_is_asked_and_its_answer_counts():
    with bank() as lab:
        lab.send()
        lab.lab.run_for(9_000)
        assert lab.checks == []
        lab.lab.run_for(1_500)
        ((header, shown),) = lab.checks
        assert (shown.topic, shown.queue_id, shown.body) == ("T", 2, b"k")
        assert shown.properties["TRANSACTION_CHECK_TIMES"] == "1"
        assert header.msg_id == header.transaction_id == "U-k"
        again = lab.halves[1]
        assert (header.tran_state_table_offset, header.commit_log_offset) == (1, again.commit_log_offset)
        assert header.offset_msg_id == again.offset_message_id
        assert lab.end(again, COMMIT, from_transaction_check=True).code == ResponseCode.SUCCESS
        assert lab.visible == [b"k"]
        lab.lab.run_for(60_000)
        assert len(lab.checks) == 1
        assert lab.offsets == (2, 1)


def test_a_half_message_younger_than_the_timeout_is_left_alone():
    with bank() as lab:
        lab.lab.run_for(9_000)
        lab.send(born_timestamp=lab.now_ms)
        lab.lab.run_for(1_500)
        assert (lab.checks, lab.offsets) == ([], (0, 0))
        lab.lab.run_for(10_000)
        assert len(lab.checks) == 1


def test_a_message_of_a_sender_whose_clock_is_ahead_is_asked_about_all_the_same():
    with bank() as lab:
        lab.send(born_timestamp=lab.now_ms + 3_600_000)
        lab.lab.run_for(10_500)
        assert len(lab.checks) == 1


def test_a_message_may_ask_for_more_time_than_the_broker_gives():
    with bank() as lab:
        lab.send(CHECK_IMMUNITY_TIME_IN_SECONDS="25")
        lab.lab.run_for(21_000)
        assert lab.checks == []
        assert lab.halves[-1].properties["TRAN_PREPARED_QUEUE_OFFSET"] == "0"
        assert "TRANSACTION_CHECK_TIMES" not in lab.halves[-1].properties
        lab.lab.run_for(10_000)
        assert len(lab.checks) == 1


def test_an_answer_that_names_the_first_place_of_a_message_that_was_put_off_counts():
    with bank() as lab:
        lab.send(CHECK_IMMUNITY_TIME_IN_SECONDS="25")
        (first,) = lab.halves
        lab.lab.run_for(21_000)
        assert len(lab.halves) == 3
        lab.end(first, COMMIT)
        lab.lab.run_for(60_000)
        assert (lab.checks, lab.visible) == ([], [b"k"])
        assert lab.offsets == (3, 1)


def test_properties_that_are_no_numbers_do_not_stop_the_check():
    with bank() as lab:
        for name in ("TRAN_PREPARED_QUEUE_OFFSET", "TRANSACTION_CHECK_TIMES", "CHECK_IMMUNITY_TIME_IN_SECONDS"):
            odd: dict[str, Any] = {name: "\u00b2"}  # a digit to str.isdigit, no number to int
            lab.send(name, **odd)
        lab.lab.run_for(10_500)
        assert len(lab.checks) == 3


def test_a_message_that_nobody_decides_is_given_up_after_the_last_check():
    with bank() as lab:
        lab.send()
        lab.lab.run_for(45_000)
        assert len(lab.checks) == 3
        (discarded,) = lab.stored(TRANSACTION_CHECK_MAX_TIME_TOPIC)
        assert (discarded.body, discarded.properties["TRANSACTION_CHECK_TIMES"]) == (b"k", "3")
        lab.lab.run_for(60_000)
        assert (len(lab.checks), lab.visible) == (3, [])
        assert lab.lab.broker.transactional_message_service.discarded_messages == 1


def test_the_counter_grows_when_nobody_of_the_group_is_there():
    with bank() as lab:
        lab.send(PGROUP="gone")
        lab.lab.run_for(45_000)
        assert lab.checks == []
        assert len(lab.stored(TRANSACTION_CHECK_MAX_TIME_TOPIC)) == 1


def test_a_message_older_than_the_log_keeps_is_given_up_without_asking():
    with bank(store_config=MessageStoreConfig(file_reserved_time_hours=0)) as lab:
        lab.lab.run_for(1_000)
        lab.send()
        lab.lab.run_for(10_000)
        assert lab.checks == []
        assert len(lab.stored(TRANSACTION_CHECK_MAX_TIME_TOPIC)) == 1


def test_a_message_that_was_given_up_can_be_resumed():
    with bank() as lab:
        lab.send()
        lab.lab.run_for(45_000)
        (discarded,) = lab.stored(TRANSACTION_CHECK_MAX_TIME_TOPIC)
        header = ResumeCheckHalfMessageRequestHeader(discarded.offset_message_id)
        assert lab.producer.call(RequestCode.RESUME_CHECK_HALF_MESSAGE, header).code == ResponseCode.SUCCESS
        lab.lab.run_for(12_000)
        assert len(lab.checks) == 4
        assert lab.checks[-1][1].properties["TRANSACTION_CHECK_TIMES"] == "1"
        lab.end(lab.halves[-1], COMMIT)
        assert lab.visible == [b"k"]


def test_only_a_message_that_was_given_up_can_be_resumed():
    with bank() as lab:
        lab.send()
        header = ResumeCheckHalfMessageRequestHeader(lab.halves[0].offset_message_id)
        assert lab.producer.call(RequestCode.RESUME_CHECK_HALF_MESSAGE, header).code == ResponseCode.SYSTEM_ERROR


def test_the_id_of_another_brokers_message_resumes_nothing():
    with bank() as lab:
        lab.send()
        lab.lab.run_for(45_000)
        (discarded,) = lab.stored(TRANSACTION_CHECK_MAX_TIME_TOPIC)
        for wrong in (encode_offset_message_id("10.0.0.9:10911", discarded.commit_log_offset), "no id"):
            header = ResumeCheckHalfMessageRequestHeader(wrong)
            assert lab.producer.call(RequestCode.RESUME_CHECK_HALF_MESSAGE, header).code == ResponseCode.SYSTEM_ERROR
        lab.lab.run_for(12_000)
        assert len(lab.checks) == 3


def test_members_of_the_group_are_asked_in_turn():
    with bank() as lab:
        other = lab.lab.client("other")
        other.heartbeat("idle", {}, producer_groups=("payments",))
        for key in ("a", "b", "c", "d"):
            lab.send(key)
        lab.lab.run_for(10_500)
        assert (len(lab.checks), len(checks_of(other))) == (2, 2)


def test_many_decided_messages_are_passed_without_a_question():
    with bank() as lab:
        for number in range(100):
            lab.send(str(number))
            half = lab.newest_half
            if number != 50:
                lab.end(half, ROLLBACK if number % 2 else COMMIT)
        lab.lab.run_for(10_500)
        assert [shown.body for _, shown in lab.checks] == [b"50"]
        lab.end(lab.newest_half, COMMIT)
        lab.lab.run_for(20_000)
        assert lab.offsets == (101, 100)
        assert lab.lab.broker.store.consume_queue_entries(TRANSACTION_HALF_TOPIC, 0, lab.offsets[0], 10) == []


# --- crashes ---------------------------------------------------------------------------------------------------------


def test_a_half_message_survives_a_crash_and_is_asked_about_afterwards():
    with bank() as lab:
        lab.send()
        lab.lab.restart_broker()
        lab.producer.heartbeat("idle", {}, producer_groups=("payments",))
        lab.lab.run_for(11_000)
        assert len(lab.checks) == 1


def test_a_commit_whose_mark_was_not_written_is_asked_about_and_committed_again_by_rocketmq(monkeypatch):
    with bank(AS_ROCKETMQ) as lab:
        lab.send()
        lost = PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, "the broker died here")
        with monkeypatch.context() as patch:
            patch.setattr(lab.lab.broker.transactional_message_service, "mark_decided", lambda *_: lost)
            lab.end(lab.halves[0], COMMIT)
        assert (lab.visible, lab.ops) == ([b"k"], [])
        lab.lab.run_for(10_500)
        lab.end(lab.halves[-1], COMMIT)
        assert lab.visible == [b"k", b"k"]


def test_how_far_the_check_has_come_is_kept_like_a_consumer_group():
    with bank() as lab:
        lab.send()
        lab.end(lab.halves[0], COMMIT)
        lab.lab.run_for(21_000)
        manager = lab.lab.broker.consumer_offset_manager
        assert manager.query_offset(TRANSACTION_CHECK_GROUP, TRANSACTION_HALF_TOPIC, 0) == 1
        assert manager.query_offset(TRANSACTION_CHECK_GROUP, TRANSACTION_OP_HALF_TOPIC, 0) == 1
        lab.lab.stop_broker()
        assert lab.offsets == (1, 1)
