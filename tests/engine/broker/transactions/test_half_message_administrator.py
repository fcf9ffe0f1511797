"""Half messages that an administrator decides: which one is meant, whether it may be, what the broker makes of it."""

from __future__ import annotations

import pytest

from engine.broker.transactions import half_message_lookup
from engine.broker.transactions.half_message_lookup import (
    HalfMessageAction,
    HalfMessageRefusal,
    HalfMessageRefused,
    deciding_op,
)
from engine.protocol.message.message import MessageExt
from engine.protocol.names import TRANSACTION_CHECK_MAX_TIME_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus
from tests.engine.broker.transactions.test_transactions import (
    AS_ROCKETMQ,
    COMMIT,
    CONFIG,
    ROLLBACK,
    TransactionLab,
    bank,
)


def act(lab: TransactionLab, action: HalfMessageAction, name: str, *, anyway: bool = False) -> MessageExt:
    administrator = lab.lab.broker.half_message_administrator
    message = lab.lab.world.run(administrator.act(action, name, anyway=anyway), node="broker-a")
    lab.lab.run_for(1)
    return message


def refusal(lab: TransactionLab, action: HalfMessageAction, name: str) -> HalfMessageRefusal:
    with pytest.raises(HalfMessageRefused) as refused:
        act(lab, action, name)
    return refused.value.refusal


def test_a_commit_by_hand_does_what_the_producers_commit_does():
    with bank() as lab:
        lab.send("k1")
        assert act(lab, HalfMessageAction.COMMIT, "k1").unique_id == "U-k1"
        assert (lab.visible, lab.ops) == ([b"k1"], [b"0"])


def test_a_rollback_by_hand_leaves_an_op_message_only():
    with bank() as lab:
        lab.send("k1")
        act(lab, HalfMessageAction.ROLLBACK, "U-k1")
        lab.lab.run_for(120_000)
        assert (lab.visible, lab.ops, lab.checks) == ([], [b"0"], [])


def test_the_newest_copy_of_a_message_that_was_asked_about_is_meant():
    with bank() as lab:
        lab.send("k1")
        lab.lab.run_for(10_500)
        assert len(lab.halves) == 2
        assert act(lab, HalfMessageAction.COMMIT, "k1").queue_offset == 1
        assert (lab.visible, lab.ops) == ([b"k1"], [b"1"])


@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_what_is_decided_is_refused_although_a_broker_like_rocketmq_would_do_it_again(decision):
    with bank(AS_ROCKETMQ) as lab:
        lab.send("k1")
        lab.end(lab.halves[0], decision)
        before = lab.visible
        assert refusal(lab, HalfMessageAction.COMMIT, "k1") is HalfMessageRefusal.DECIDED
        assert refusal(lab, HalfMessageAction.ROLLBACK, "k1") is HalfMessageRefusal.DECIDED
        assert lab.visible == before
        act(lab, HalfMessageAction.COMMIT, "k1", anyway=True)
        assert (lab.visible, lab.ops) == ([*before, b"k1"], [b"0", b"0"])


def test_a_late_answer_that_meant_an_older_copy_decides_the_message_too():
    with bank() as lab:
        lab.send("k1")
        (first,) = lab.halves
        lab.lab.run_for(10_500)
        lab.end(first, COMMIT)
        assert refusal(lab, HalfMessageAction.COMMIT, "k1") is HalfMessageRefusal.DECIDED


def test_an_op_message_from_before_a_half_message_does_not_decide_it():
    """After a crash that lost the end of the log, a half message may get an offset that an op message names already."""
    with bank() as lab:
        lab.send("k1")
        lab.end(lab.halves[0], ROLLBACK)
        (op,) = lab.stored(TRANSACTION_OP_HALF_TOPIC)
        (half,) = lab.halves
        assert deciding_op([(0, op)], [half]) == 0
        earlier = lab.stored(TRANSACTION_HALF_TOPIC)[0]
        earlier.queue_offset, earlier.commit_log_offset = 7, 0
        half.commit_log_offset = op.commit_log_offset + op.store_size
        assert deciding_op([(0, op)], [earlier, half]) is None


def test_names_that_fit_nothing_or_several_are_refused():
    with bank() as lab:
        lab.send("k1", KEYS="both")
        lab.send("k2", KEYS="both")
        assert refusal(lab, HalfMessageAction.COMMIT, "k3") is HalfMessageRefusal.NO_SUCH
        assert refusal(lab, HalfMessageAction.RESUME, "U-k1") is HalfMessageRefusal.NOT_GIVEN_UP
        with pytest.raises(HalfMessageRefused, match=r"2 half messages have the key 'both'.*U-k1, U-k2"):
            act(lab, HalfMessageAction.COMMIT, "both")
        act(lab, HalfMessageAction.COMMIT, "U-k2")
        assert lab.visible == [b"k2"]


def test_a_message_without_a_unique_id_goes_by_the_id_of_its_place():
    with bank() as lab:
        lab.send("k1", UNIQ_KEY="")
        (half,) = lab.halves
        assert half.message_id == half.offset_message_id
        act(lab, HalfMessageAction.COMMIT, half.offset_message_id)
        assert lab.visible == [b"k1"]


def test_a_message_that_was_given_up_is_resumed_before_it_can_be_decided():
    with bank() as lab:
        lab.send("k1")
        lab.lab.run_for(41_000)
        assert len(lab.stored(TRANSACTION_CHECK_MAX_TIME_TOPIC)) == 1
        assert refusal(lab, HalfMessageAction.COMMIT, "k1") is HalfMessageRefusal.GIVEN_UP
        act(lab, HalfMessageAction.RESUME, "k1")
        assert lab.newest_half.properties["TRANSACTION_CHECK_TIMES"] == "0"
        assert refusal(lab, HalfMessageAction.RESUME, "k1") is HalfMessageRefusal.RESUMED
        act(lab, HalfMessageAction.COMMIT, "k1")
        assert lab.visible == [b"k1"]


def test_a_message_that_was_decided_after_it_was_given_up_is_not_resumed():
    with bank() as lab:
        lab.send("k1")
        lab.lab.run_for(41_000)
        lab.end(lab.newest_half, COMMIT)
        assert refusal(lab, HalfMessageAction.RESUME, "k1") is HalfMessageRefusal.DECIDED


def test_a_decision_that_may_lie_too_far_back_is_said_to_be_unknown(monkeypatch):
    monkeypatch.setattr(half_message_lookup, "OPS_SEARCHED_MAX", 2)
    monkeypatch.setattr(half_message_lookup, "_OPS_PER_READ", 1)
    with bank() as lab:
        lab.send("k1")
        for number in range(3):
            lab.send(f"other-{number}")
            lab.end(lab.newest_half, ROLLBACK)
        assert refusal(lab, HalfMessageAction.COMMIT, "k1") is HalfMessageRefusal.TOO_FAR_BACK
        assert refusal(lab, HalfMessageAction.COMMIT, "other-2") is HalfMessageRefusal.DECIDED
        act(lab, HalfMessageAction.COMMIT, "k1", anyway=True)
        assert lab.visible == [b"k1"]


def test_without_an_index_nothing_can_be_found():
    with bank(CONFIG, MessageStoreConfig(message_index_enable=False)) as lab:
        lab.send("k1")
        assert refusal(lab, HalfMessageAction.COMMIT, "k1") is HalfMessageRefusal.NO_INDEX


def test_what_the_broker_refuses_is_reported(monkeypatch):
    with bank() as lab:
        lab.send("k1")
        full = PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, "no room")
        monkeypatch.setattr(lab.lab.broker.store, "put_message", lambda message: full)
        with pytest.raises(HalfMessageRefused, match="the broker rejected the request: no room"):
            act(lab, HalfMessageAction.COMMIT, "k1")
