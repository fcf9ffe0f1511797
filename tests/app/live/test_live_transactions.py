"""Half messages of the live broker, as its page sees them."""

from __future__ import annotations

import asyncio

import pytest

from app.observation import transactions_view
from app.observation.bounds import HALF_MESSAGES_MAX
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client import LocalTransactionState, Message, TransactionMQProducer
from tests.support.live.live_server import LiveServer, ObedientListener, message

COMMIT, ROLLBACK, UNKNOW = (
    LocalTransactionState.COMMIT_MESSAGE,
    LocalTransactionState.ROLLBACK_MESSAGE,
    LocalTransactionState.UNKNOW,
)
NEVER_MS = 3_600_000


@pytest.fixture
def live(tmp_path):
    config = BrokerConfig(port=0, transaction_time_out_ms=NEVER_MS, transaction_check_interval_ms=NEVER_MS)
    with LiveServer(tmp_path / "data", broker=config) as live:
        yield live


def send_in_transactions(live, *states):
    async def send():
        async with TransactionMQProducer(None, "bank", live.name_servers, ObedientListener()) as producer:
            for number, state in enumerate(states):
                message = Message("Transfers", b"x", keys=f"t-{number}")
                await producer.send_message_in_transaction(message, state)

    asyncio.run(send())


def test_a_broker_that_had_no_transaction_says_nothing_about_them(live):
    live.send(message("orders"))
    assert live.host.state()["transactions"] is None


def test_each_half_message_says_whether_it_is_decided_and_by_which_op_message(live):
    send_in_transactions(live, COMMIT, UNKNOW, ROLLBACK)
    part = live.state_when(lambda state: state["transactions"]["op_end"] == 2)["transactions"]
    assert [(half["key"], half["decided_by"]) for half in part["messages"]] == [("t-0", 0), ("t-1", None), ("t-2", 1)]
    waits = part["messages"][1]
    assert (waits["topic"], waits["group"], waits["check_times"]) == ("Transfers", "bank", 0)
    assert waits["ask_from_ms"] - waits["born_ms"] == NEVER_MS
    assert (part["half_offset"], part["half_end"], part["check_max"], part["discarded"]) == (0, 3, 15, 0)
    started_ms = live.host.state()["cluster"]["started_us"] // 1_000
    assert abs(part["next_round_ms"] - NEVER_MS - started_ms) < 60_000


def test_the_same_object_is_sent_while_nothing_changes(live):
    send_in_transactions(live, UNKNOW)
    thread, _ = live.host._engine()
    view = transactions_view.TransactionsView(live.host._machines.broker)
    first = thread.call(view.build)
    assert thread.call(view.build) is first


def test_the_newest_half_messages_are_shown_and_a_look_reads_no_more_than_its_share_of_op_messages(live, monkeypatch):
    monkeypatch.setattr(transactions_view, "OPS_PER_LOOK_MAX", 10)
    count = HALF_MESSAGES_MAX + 20
    send_in_transactions(live, *[COMMIT] * count)
    live.state_when(lambda state: state["transactions"]["op_end"] == count)
    thread, _ = live.host._engine()
    part = thread.call(transactions_view.TransactionsView(live.host._machines.broker).build)
    assert [half["key"] for half in part["messages"]] == [f"t-{number}" for number in range(20, count)]
    assert [half["decided_by"] for half in part["messages"][-10:]] == list(range(count - 10, count))
    assert {half["decided_by"] for half in part["messages"][:-10]} == {None}
