"""The listener around a strategy: what is acknowledged, what comes again, and what is counted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from engine.client import DefaultMQPushConsumer
from engine.client.callbacks.consume_concurrently import ACK_ALL, ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus
from engine.client.callbacks.consume_orderly import ConsumeOrderlyContext, ConsumeOrderlyStatus
from engine.idempotence import idempotent_listener
from engine.idempotence.foundation.business_key import KeyOf, first_of_keys, unique_id, user_property
from engine.idempotence.foundation.errors import AlreadyDone, ComeAgainLater, StoreUnreachable
from engine.idempotence.idempotence_config import STRATEGIES, IdempotenceConfig, make_strategy
from engine.idempotence.idempotent_listener import IdempotentListener, MessageWork, WhenUnreachable, work_of
from engine.idempotence.stores.embedded_sqlite import EmbeddedSqlite
from engine.idempotence.stores.sql_record_store import SqlRecordStore
from engine.idempotence.strategies.message_table import MessageTable
from engine.idempotence.strategies.state_table import StateTable
from engine.idempotence.strategies.strategy import DeliveryVerdict, Strategy
from engine.idempotence.strategies.tempting import NoStrategy
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt
from tests.support.idempotence.deliveries import START_MS, SmallRuntime, message

SUCCESS, LATER = ConsumeConcurrentlyStatus.CONSUME_SUCCESS, ConsumeConcurrentlyStatus.RECONSUME_LATER
QUEUE = MessageQueue("Orders", "broker-a", 0)


class Bench:
    """A guard around work that notes what it does, and fails or waits where it is configured to."""

    def __init__(self) -> None:
        self.runtime = SmallRuntime()
        self.records = SqlRecordStore(EmbeddedSqlite(":memory:"))
        self.done: list[str] = []
        self.fails: list[str] = []
        self.reported: list[tuple[str, DeliveryVerdict | None]] = []

    async def work(self, one: MessageExt, _transaction: object) -> None:
        if one.message_id in self.fails:
            raise ZeroDivisionError
        self.done.append(one.message_id)

    async def guard(
        self, key: KeyOf = unique_id, work: MessageWork | None = None, strategy: Strategy | None = None, **options: Any
    ) -> IdempotentListener:
        made = IdempotentListener(
            self.runtime,  # type: ignore[arg-type]  # what it needs of one
            work or self.work,
            strategy or StateTable(self.records, self.runtime.clock),
            "shop",
            key,
            watcher=lambda one, key, verdict: self.reported.append((one.message_id, verdict)),
            **options,
        )
        await made.prepare()
        return made


def run(check: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(check(Bench()))


def counted(guard: IdempotentListener) -> dict[str, int]:
    return {name: count for name, count in guard.counters.to_dict().items() if count}


async def concurrently(guard: IdempotentListener, *messages: MessageExt) -> tuple[ConsumeConcurrentlyStatus, int]:
    context = ConsumeConcurrentlyContext(QUEUE)
    return await guard.concurrently(messages, context), context.ack_index


async def orderly(guard: IdempotentListener, *messages: MessageExt) -> ConsumeOrderlyStatus:
    return await guard.orderly(messages, ConsumeOrderlyContext(QUEUE))


def test_a_batch_is_done_and_its_duplicate_swallowed():
    async def check(bench: Bench) -> None:
        guard = await bench.guard()
        batch = [message(number) for number in range(3)]
        assert await concurrently(guard, *batch) == (SUCCESS, ACK_ALL)
        assert not any(one.is_swallowed for one in batch)
        assert await concurrently(guard, *batch, message(3)) == (SUCCESS, ACK_ALL)
        assert await orderly(guard, *batch) is ConsumeOrderlyStatus.SUCCESS
        assert bench.done == ["M0", "M1", "M2", "M3"]
        assert all(one.is_swallowed for one in batch), "the trace says that nothing was done"
        assert counted(guard) == {"first": 4, "swallowed": 6}
        assert bench.reported[2:5] == [
            ("M2", DeliveryVerdict.FIRST),
            ("M0", DeliveryVerdict.SWALLOWED),
            ("M1", DeliveryVerdict.SWALLOWED),
        ]

    run(check)


def test_of_a_concurrent_batch_all_from_the_first_that_must_come_again_do_and_all_are_tried():
    async def check(bench: Bench) -> None:
        guard = await bench.guard()
        bench.fails = ["M1"]
        batch = [message(number) for number in range(4)]
        assert await concurrently(guard, *batch) == (SUCCESS, 0)
        assert bench.done == ["M0", "M2", "M3"]
        bench.fails = []
        assert await concurrently(guard, *batch[1:]) == (SUCCESS, ACK_ALL)
        assert bench.done == ["M0", "M2", "M3", "M1"]
        assert counted(guard) == {"first": 4, "failed": 1, "swallowed": 2}
        bench.fails = ["M9"]
        assert await concurrently(guard, message(9), message(8)) == (LATER, ACK_ALL)

    run(check)


def test_of_an_orderly_batch_nothing_behind_the_first_that_must_come_again_is_touched():
    async def check(bench: Bench) -> None:
        guard = await bench.guard()
        bench.fails = ["M1"]
        batch = [message(number) for number in range(3)]
        assert await orderly(guard, *batch) is ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
        assert bench.done == ["M0"]
        bench.fails = []
        assert await orderly(guard, *batch) is ConsumeOrderlyStatus.SUCCESS
        assert bench.done == ["M0", "M1", "M2"]

    run(check)


def test_a_duplicate_in_the_middle_of_a_batch_bounces_while_the_first_is_at_it():
    async def check(bench: Bench) -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def work(one: MessageExt, _transaction: object) -> None:
            if one.message_id == "M1":
                begun.set()
                await may_end.wait()

        guard = await bench.guard(work=work)
        first = asyncio.create_task(concurrently(guard, message(1)))
        await begun.wait()
        assert await concurrently(guard, message(0), message(1), message(2)) == (SUCCESS, 0)
        may_end.set()
        assert await first == (SUCCESS, ACK_ALL)
        assert await concurrently(guard, message(1), message(2)) == (SUCCESS, ACK_ALL)
        assert counted(guard) == {"first": 3, "bounced": 1, "swallowed": 2}

    run(check)


def test_a_second_send_has_another_unique_id_and_the_same_business_key():
    async def check(bench: Bench) -> None:
        by_id = await bench.guard()
        assert [await by_id.consume(message(n, keys="order-1")) for n in (1, 2)] == [True, True]
        assert bench.done == ["M1", "M2"]
        for key, twice in (
            (first_of_keys, [message(n, keys="order-2 x") for n in (3, 4)]),
            (user_property("orderId"), [message(n, orderId="3") for n in (5, 6)]),
        ):
            guard = await bench.guard(key)
            assert [await guard.consume(one) for one in twice] == [True, True]
        assert bench.done == ["M1", "M2", "M3", "M5"]

    run(check)


@pytest.mark.parametrize(
    ("key", "one", "why"),
    [
        (first_of_keys, message(1), "message M1 has no KEYS: set keys="),
        (user_property("orderId"), message(1), "message M1 has no property 'orderId'"),
        (user_property("orderId"), message(1, orderId="x" * 256), "at most 255 characters, got 256"),
        (user_property("orderId"), message(1, orderId="a\nb"), "no control characters"),
        (user_property("orderId"), message(1, orderId="a\ud800"), "surrogates"),
        (user_property("orderId"), message(1, orderId="a\uffff"), "unassigned"),
        (lambda _: 17, message(1), "a text of 1 to 255 characters, got 17"),
    ],
)
def test_a_message_whose_key_no_store_takes_comes_again_with_the_reason(
    key: KeyOf, one: MessageExt, why: str, caplog: pytest.LogCaptureFixture
):
    async def check(bench: Bench) -> None:
        guard = await bench.guard(key)
        assert await concurrently(guard, one) == (LATER, ACK_ALL)
        assert bench.done == []
        assert counted(guard) == {"unusable_keys": 1}

    run(check)
    assert why in caplog.text


@pytest.mark.parametrize("key", ["订单\u300017", "order\u00a017", "order 17"])
def test_spaces_of_all_kinds_may_be_in_a_key(key: str):
    async def check(bench: Bench) -> None:
        guard = await bench.guard(user_property("orderId"))
        assert [await guard.consume(message(number, orderId=key)) for number in (1, 2)] == [True, True]
        assert bench.done == ["M1"]

    run(check)


def test_the_same_key_with_another_body_comes_again_and_is_reported_unless_bodies_are_not_compared(
    caplog: pytest.LogCaptureFixture,
):
    async def check(bench: Bench) -> None:
        guard = await bench.guard(first_of_keys)
        await guard.consume(message(1, b"pay 1", "order-1"))
        assert not await guard.consume(message(2, b"pay 2", "order-1"))
        assert counted(guard) == {"first": 1, "different_bodies": 1}
        tolerant = await bench.guard(first_of_keys, checks_body=False)
        assert await tolerant.consume(message(2, b"pay 2", "order-1"))
        assert bench.done == ["M1"]

    run(check)
    assert "order-1 was used before for another body" in caplog.text


def test_a_unique_id_of_any_length_does_not_keep_the_work_from_being_done():
    async def check(bench: Bench) -> None:
        guard = await bench.guard(first_of_keys)
        one = message(1, keys="order-1", UNIQ_KEY="m" * 5_000)
        assert await guard.consume(one)
        (record,) = await bench.records.newest(None, 2)
        assert record.message_id == "m" * 255

    run(check)


class Gone:
    """A store that answers nothing."""

    async def prepare(self) -> None:
        pass

    async def take(self, _claim: object) -> None:
        raise StoreUnreachable("gone")

    async def release(self, _key: object, _owner: object) -> None:
        raise StoreUnreachable("gone")


def test_without_its_store_it_does_nothing_or_works_unguarded_as_was_chosen():
    async def check(bench: Bench) -> None:
        gone = StateTable(Gone(), bench.runtime.clock)  # type: ignore[arg-type]  # what the test needs of a store
        closed = await bench.guard(strategy=gone)
        assert await concurrently(closed, message(1)) == (LATER, ACK_ALL)
        assert (bench.done, counted(closed)) == ([], {"store_errors": 1})
        opened = await bench.guard(strategy=gone, when_unreachable=WhenUnreachable.WORK)
        for _ in range(2):
            assert await concurrently(opened, message(1)) == (SUCCESS, ACK_ALL)
        assert (bench.done, counted(opened)) == (["M1", "M1"], {"store_errors": 2, "unguarded": 2})
        bench.fails = ["M2"]
        assert not await opened.consume(message(2))

    run(check)


def test_work_that_says_it_was_done_is_acknowledged_under_every_strategy():
    async def done_before(_one: MessageExt, _transaction: object) -> None:
        raise AlreadyDone

    async def check(bench: Bench) -> None:
        for name in STRATEGIES:
            database = EmbeddedSqlite(":memory:")
            config = IdempotenceConfig(idempotence_strategy=name)
            strategy = make_strategy(config, database, SqlRecordStore(database), bench.runtime.clock)
            guard = await bench.guard(work=done_before, strategy=strategy)
            assert await guard.consume(message(1)), name
            assert counted(guard) == {"swallowed": 1}, name
        gone = StateTable(Gone(), bench.runtime.clock)  # type: ignore[arg-type]  # what the test needs of a store
        guard = await bench.guard(work=done_before, strategy=gone, when_unreachable=WhenUnreachable.WORK)
        assert await guard.consume(message(1))
        assert counted(guard) == {"swallowed": 1, "store_errors": 1}
        assert {verdict for _, verdict in bench.reported} == {DeliveryVerdict.SWALLOWED}

    run(check)


def test_a_delivery_is_done_although_what_is_forgotten_could_not_be_deleted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(idempotent_listener, "PURGE_EVERY", 2)
    purged: list[int] = []

    async def check(bench: Bench) -> None:
        async def purge(now_ms: int) -> int:
            purged.append(now_ms)
            raise StoreUnreachable("gone")

        guard = await bench.guard()
        monkeypatch.setattr(bench.records, "purge", purge)
        assert [await guard.consume(message(number)) for number in range(4)] == [True] * 4
        assert purged == [START_MS] * 2
        assert counted(guard) == {"first": 4, "store_errors": 2}

    run(check)


def test_what_cannot_be_is_refused_when_it_is_made():
    async def check(bench: Bench) -> None:
        table = MessageTable(EmbeddedSqlite(":memory:"))
        with pytest.raises(ValueError, match="message-table cannot fail open"):
            await bench.guard(strategy=table, when_unreachable=WhenUnreachable.WORK)
        with pytest.raises(ValueError, match="expiry_ms is at least 1, got 0"):
            await bench.guard(expiry_ms=0)

    run(check)


def test_a_late_finish_is_acknowledged_and_reported(caplog: pytest.LogCaptureFixture):
    async def check(bench: Bench) -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def slow(_one: MessageExt, _transaction: object) -> None:
            begun.set()
            await may_end.wait()

        late, quick = await bench.guard(work=slow), await bench.guard()
        first = asyncio.create_task(late.consume(message(1)))
        await begun.wait()
        bench.runtime.clock.time_ms += late.expiry_ms
        assert await quick.consume(message(1))
        may_end.set()
        assert await first
        assert (counted(late), counted(quick)) == ({"late_finishes": 1}, {"taken_over": 1})

    run(check)
    assert "M1 took longer than its record lived" in caplog.text


def test_an_expiry_below_the_listeners_time_out_is_warned_of(caplog: pytest.LogCaptureFixture):
    async def check(bench: Bench) -> None:
        consumer = DefaultMQPushConsumer(None, "shop", consume_timeout_ms=900_000)
        (await bench.guard(expiry_ms=900_000)).register(consumer, orderly=True)
        for strategy in (NoStrategy(), MessageTable(EmbeddedSqlite(":memory:"))):  # in which no record of work expires
            (await bench.guard(strategy=strategy, expiry_ms=1)).register(consumer)
        assert not caplog.records
        (await bench.guard(expiry_ms=600_000)).register(consumer)

    with caplog.at_level(logging.WARNING, "glassmq.idempotence"):
        run(check)
    assert "records expire after 600000 ms, but a listener may take 900000 ms" in caplog.text


def test_a_listener_that_exists_becomes_the_work_message_by_message():
    answers: dict[str, Any] = {
        "M1": SUCCESS,
        "M2": LATER,
        "M3": None,
        "M4": ConsumeOrderlyStatus.SUCCESS,
        "M5": ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT,
        "M6": "ack_index",
    }
    seen: list[str] = []

    def listen(messages: tuple[MessageExt, ...], context: ConsumeConcurrentlyContext) -> object:
        (one,) = messages
        assert context.message_queue == MessageQueue("Orders", "", 0)
        seen.append(one.message_id)
        if answers[one.message_id] == "ack_index":
            context.ack_index = -1
            return SUCCESS
        return answers[one.message_id]

    async def listen_async(messages: tuple[MessageExt, ...], context: ConsumeConcurrentlyContext) -> object:
        return listen(messages, context)

    def hidden(messages: tuple[MessageExt, ...], context: ConsumeConcurrentlyContext) -> object:
        return listen_async(messages, context)

    async def check(bench: Bench) -> None:
        for listener in (listen, listen_async, hidden):
            bench.records = SqlRecordStore(EmbeddedSqlite(":memory:"))
            guard = await bench.guard(work=work_of(listener))  # type: ignore[arg-type]  # answers what listeners may
            reported = [await guard.consume(message(number)) for number in range(1, 7)]
            assert reported == [True, False, False, True, False, False]
        assert seen == ["M1", "M2", "M3", "M4", "M5", "M6"] * 3

    run(check)


def test_an_orderly_listener_gets_its_context():
    def listen(_messages: object, context: ConsumeOrderlyContext) -> ConsumeOrderlyStatus:
        context.suspend_current_queue_time_ms = 10
        return ConsumeOrderlyStatus.SUCCESS

    async def check(bench: Bench) -> None:
        assert await (await bench.guard(work=work_of(listen, orderly=True))).consume(message(1))

    run(check)


def test_work_may_say_that_it_wants_to_come_again_without_a_word_in_the_log(caplog: pytest.LogCaptureFixture):
    async def work(_one: MessageExt, _transaction: object) -> None:
        raise ComeAgainLater

    async def check(bench: Bench) -> None:
        guard = await bench.guard(work=work)
        assert not await guard.consume(message(1))
        assert counted(guard) == {"failed": 1}

    run(check)
    assert not caplog.records
