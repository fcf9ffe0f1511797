"""One transaction commits one message, whatever copies of its half message there are and whenever the broker dies."""

from __future__ import annotations

import dataclasses
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.broker.transactions.half_message import committed_at
from engine.protocol.command.headers import ResumeCheckHalfMessageRequestHeader
from engine.protocol.message.message import MessageExt
from engine.protocol.names import (
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
)
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus
from engine.store.message_store import MessageStore
from tests.engine.broker.transactions.test_transactions import COMMIT, ROLLBACK, TransactionLab, bank
from tests.engine.broker.transactions.test_transactions import CONFIG as TIMES
from tests.support.tiers import examples

#: A round every 7 s, offsets written every 5 s: a crash half a second after a round finds them as they were before it.
CONFIG = dataclasses.replace(TIMES, transaction_check_interval_ms=7_000)
ROUND_MS = 7_500
SYNC = MessageStoreConfig(flush_disk_type=FlushDiskType.SYNC_FLUSH)
LOG_FILE = "commitlog/00000000000000000000"


def in_queue(lab: TransactionLab, topic: str, queue_id: int = 0) -> list[MessageExt]:
    store = lab.lab.broker.store
    entries = store.consume_queue_entries(topic, queue_id, 0, 100_000)
    found = [store.message_at(place) for place, size, _ in entries if size != FILLER_SIZE]
    return [message for message in found if message is not None]


def copies(lab: TransactionLab, key: str) -> list[MessageExt]:
    return [half for half in in_queue(lab, TRANSACTION_HALF_TOPIC) if half.keys == (key,)]


def crash(lab: TransactionLab, *, power: bool = False, torn: bool = False) -> None:
    lab.lab.world.crash("broker-a", not power, torn=torn)
    lab.lab.world.restart("broker-a")
    lab.lab.broker = lab.lab._start_broker()
    lab.producer.heartbeat("idle", {}, producer_groups=("payments",))


async def flush(store: MessageStore) -> None:
    assert await store.flushed(store.commit_log.max_offset)


# --- kill -9 ---------------------------------------------------------------------------------------------------------


def test_all_copies_that_a_crash_left_commit_one_message():
    """A round is over, its offsets are not written: the next process walks along the same half messages again."""
    with bank(CONFIG) as lab:
        lab.send()
        lab.lab.run_for(ROUND_MS)
        crash(lab)
        lab.lab.run_for(ROUND_MS)
        crash(lab)
        lab.lab.run_for(ROUND_MS)
        for half in copies(lab, "k"):
            lab.end(half, COMMIT)
        assert lab.visible == [b"k"]
        lab.lab.run_for(60_000)
        assert lab.visible == [b"k"]
        assert in_queue(lab, TRANSACTION_CHECK_MAX_TIME_TOPIC) == []


def test_ten_kills_leave_as_many_copies_as_there_were_checks_and_each_message_is_given_up_once(caplog):
    with bank(CONFIG) as lab:
        for number in range(20):
            lab.send(f"k{number}")
        for _ in range(10):
            lab.lab.run_for(ROUND_MS)
            crash(lab)
        lab.lab.run_for(60_000)
        assert [len(copies(lab, f"k{number}")) for number in range(20)] == [1 + CONFIG.transaction_check_max] * 20
        assert len(in_queue(lab, TRANSACTION_CHECK_MAX_TIME_TOPIC)) == 20
        assert sum("is given up" in record.message for record in caplog.records) == 20


def test_a_copy_that_is_not_the_newest_is_decided_for_all():
    with bank(CONFIG) as lab:
        lab.send()
        first = lab.newest_half
        lab.lab.run_for(ROUND_MS)
        assert lab.end(first, ROLLBACK).code == ResponseCode.SUCCESS
        assert lab.ops == [b"1"], "the newest copy, which every broker would ask about next"
        reply = lab.end(lab.newest_half, COMMIT)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "decided already" in (reply.remark or "")
        crash(lab)
        lab.end(first, COMMIT)
        lab.lab.run_for(60_000)
        assert lab.visible == []


def test_two_transactions_with_one_unique_id_are_two():
    """Who sends one message object twice, after a rollback say, has its id twice."""
    with bank(CONFIG) as lab:
        lab.send("k")
        lab.send("k")
        first, second = lab.halves
        lab.end(first, ROLLBACK)
        crash(lab)
        assert lab.end(second, COMMIT).code == ResponseCode.SUCCESS
        assert lab.visible == [b"k"]


def test_a_sender_cannot_name_the_transaction_of_another():
    with bank(CONFIG) as lab:
        lab.send("a")
        lab.send("b", TRAN_PREPARED_QUEUE_OFFSET="0")
        lab.end(lab.halves[1], ROLLBACK)
        assert lab.end(lab.halves[0], COMMIT).code == ResponseCode.SUCCESS
        assert lab.visible == [b"a"]


def test_a_decision_about_a_message_that_was_given_up_counts_once():
    with bank(CONFIG) as lab:
        lab.send()
        lab.lab.run_for(45_000)
        assert [half.body for half in in_queue(lab, TRANSACTION_CHECK_MAX_TIME_TOPIC)] == [b"k"]
        lab.end(lab.newest_half, COMMIT)
        lab.end(lab.halves[0], COMMIT)
        assert lab.visible == [b"k"]


def test_a_message_that_was_resumed_is_asked_about_after_a_crash_too():
    with bank(CONFIG) as lab:
        lab.send()
        lab.lab.run_for(28_500)  # given up at 28 s, and the offsets are written at 30 s
        (discarded,) = in_queue(lab, TRANSACTION_CHECK_MAX_TIME_TOPIC)
        header = ResumeCheckHalfMessageRequestHeader(discarded.offset_message_id)
        assert lab.producer.call(RequestCode.RESUME_CHECK_HALF_MESSAGE, header).code == ResponseCode.SUCCESS
        assert lab.producer.call(RequestCode.RESUME_CHECK_HALF_MESSAGE, header).code == ResponseCode.SYSTEM_ERROR
        before = len(lab.checks)
        crash(lab)
        lab.lab.run_for(ROUND_MS)
        assert len(lab.checks) == before + 1
        lab.end(lab.newest_half, COMMIT)
        assert lab.visible == [b"k"]


def test_no_half_message_is_lost_whose_newer_copy_a_power_cut_took():
    never_ms = 3_600_000
    lazy = MessageStoreConfig(flush_interval_commit_log_ms=never_ms, flush_commit_log_thorough_interval_ms=never_ms)
    with bank(CONFIG, lazy) as lab:
        lab.send()
        store = lab.lab.broker.store
        lab.lab.world.run(flush(store), node="broker-a")
        lab.lab.run_for(10_500)  # asked at 7 s, offsets written at 10 s
        crash(lab, power=True)
        before = len(lab.checks)
        lab.lab.run_for(ROUND_MS)
        assert len(lab.checks) == before + 1


def test_undecided_transactions_are_bounded():
    with bank(dataclasses.replace(CONFIG, max_undecided_transactions=2)) as lab:
        lab.send("a")
        lab.send("b")
        refused = lab.send("c")
        assert refused.code == ResponseCode.SYSTEM_BUSY
        assert "maxUndecidedTransactions" in (refused.remark or "")
        lab.end(lab.halves[0], ROLLBACK)
        assert lab.send("c").code == ResponseCode.SUCCESS


# --- between the two writes of a commit ------------------------------------------------------------------------------


def commit_durable_half(lab: TransactionLab) -> None:
    """Commit a message of which the half message, its copies and the offsets are on the disk."""
    lab.send()
    lab.lab.run_for(20_500)
    lab.end(lab.newest_half, COMMIT)


def lose_all_but(lab: TransactionLab, kept: MessageExt) -> None:
    """The power goes when the disk has written ``kept``, of all that was not flushed."""
    place, size = kept.commit_log_offset, kept.store_size
    storage = lab.lab.world.storages["broker-a"]
    content = storage.files[LOG_FILE].read(place, size)
    storage.cut_power(None)
    log = storage.files[LOG_FILE]
    log.write(place, memoryview(content))
    log.end_flush(log.begin_flush(place, place + size))
    crash(lab, power=True)


def places(lab: TransactionLab) -> tuple[MessageExt, MessageExt]:
    return in_queue(lab, "T", 2)[-1], in_queue(lab, TRANSACTION_OP_HALF_TOPIC)[-1]


def test_a_commit_whose_op_message_a_power_cut_took_is_not_done_again():
    with bank(CONFIG) as lab:
        commit_durable_half(lab)
        committed, _ = places(lab)
        lose_all_but(lab, committed)
        assert [message.unique_id for message in in_queue(lab, "T", 2)] == [committed.unique_id]
        lab.lab.run_for(1)
        assert lab.ops[-1:] == [str(lab.newest_half.queue_offset).encode()], "the start has marked it"
        crash(lab)
        for half in lab.halves:
            lab.end(half, COMMIT)
        lab.lab.run_for(60_000)
        assert len(in_queue(lab, "T", 2)) == 1


def test_an_op_message_whose_commit_a_power_cut_took_decides_nothing():
    with bank(CONFIG) as lab:
        commit_durable_half(lab)
        committed, op = places(lab)
        assert committed_at(op) == committed.commit_log_offset
        lose_all_but(lab, op)
        assert in_queue(lab, "T", 2) == []
        assert len(in_queue(lab, TRANSACTION_OP_HALF_TOPIC)) == 1
        checks = len(lab.checks)
        lab.lab.run_for(20_500)
        assert len(lab.checks) > checks, "its sender is asked again"
        lab.end(lab.newest_half, COMMIT)
        assert len(in_queue(lab, "T", 2)) == 1


def test_an_op_message_that_finds_no_room_is_written_when_there_is_some(monkeypatch):
    with bank(CONFIG) as lab:
        lab.send()
        store = lab.lab.broker.store
        put, full = store.put_message, PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, "no room")
        with monkeypatch.context() as patch:
            patch.setattr(store, "put_message", lambda it: full if it.topic == TRANSACTION_OP_HALF_TOPIC else put(it))
            lab.end(lab.newest_half, COMMIT)
            lab.end(lab.newest_half, COMMIT)
        assert (lab.visible, lab.ops) == ([b"k"], [])
        lab.lab.run_for(11_000)  # until the next recovery point
        assert lab.ops == [b"0"]
        crash(lab)
        lab.lab.run_for(20_500)
        assert (lab.visible, lab.checks) == ([b"k"], [])


# --- any order -------------------------------------------------------------------------------------------------------

KEYS = ("a", "b", "c")
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.sampled_from(KEYS)),
        st.tuples(st.just("end"), st.sampled_from(KEYS), st.sampled_from((COMMIT, ROLLBACK)), st.integers(0, 3)),
        st.tuples(st.just("wait"), st.sampled_from((1, 700, 5_000, 7_001, 7_500, 21_000))),
        st.tuples(st.just("crash"), st.sampled_from(("kill", "kill", "power", "torn", "stop"))),
    ),
    max_size=30,
)


@settings(max_examples=examples(quick=20, full=60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(OPERATIONS, st.sampled_from((None, SYNC)))
def test_a_transaction_is_decided_once_and_never_lost(operations, store_config):
    with bank(CONFIG, store_config) as lab:
        sent: dict[str, None] = {}
        only_kills = True
        for operation in operations:
            match operation:
                case ("send", key) if key not in sent:
                    assert lab.send(key).code == ResponseCode.SUCCESS
                    sent[key] = None
                case ("end", key, decision, number) if copies(lab, key):
                    found = copies(lab, key)
                    lab.end(found[number % len(found)], decision)
                case ("wait", duration_ms):
                    lab.lab.run_for(duration_ms)
                case ("crash", "stop"):
                    lab.lab.stop_broker()
                case ("crash", how):
                    only_kills = only_kills and how == "kill"
                    crash(lab, power=how != "kill", torn=how == "torn")
        lab.lab.run_for(ROUND_MS * (CONFIG.transaction_check_max + 3))
        committed = Counter(message.keys[0] for message in in_queue(lab, "T", 2))
        half_of = {half.queue_offset: half.keys[0] for half in in_queue(lab, TRANSACTION_HALF_TOPIC)}
        ops = in_queue(lab, TRANSACTION_OP_HALF_TOPIC)
        rolled_back = {half_of.get(int(op.body)) for op in ops if committed_at(op) is None}
        given_up = Counter(message.keys[0] for message in in_queue(lab, TRANSACTION_CHECK_MAX_TIME_TOPIC))
        assert all(count == 1 for count in committed.values()), "committed once"
        assert not rolled_back & set(committed), "committed or rolled back, not both"
        is_durable = only_kills or store_config is SYNC
        for key in sent if is_durable else set(half_of.values()):
            assert key in committed or key in rolled_back or key in given_up, f"{key} is lost"
        if only_kills:
            assert all(count == 1 for count in given_up.values()), "given up once"
