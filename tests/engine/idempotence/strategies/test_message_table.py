"""The message table: the record in the transaction of the work, over real databases."""

from __future__ import annotations

import asyncio

import pytest

from engine.idempotence.foundation.errors import AlreadyDone, StoreUnreachable, UniqueViolation
from engine.idempotence.foundation.record import Taking
from engine.idempotence.strategies.message_table import MessageTable
from engine.idempotence.strategies.strategy import DeliveryVerdict, Work
from tests.support.idempotence.deliveries import START_MS, claim_of
from tests.support.idempotence.store_kinds import StoreKind, Stores

RETENTION_MS = 1_000


async def make_table(stores: Stores) -> tuple[MessageTable, Work]:
    """The strategy, and work that adds an order each time."""
    await stores.database.execute("CREATE TABLE orders (no INTEGER PRIMARY KEY)")
    strategy = MessageTable(stores.database, RETENTION_MS)
    await strategy.prepare()

    async def work(transaction) -> None:
        rows = (await transaction.execute("SELECT COUNT(*) AS n FROM orders")).rows
        await transaction.execute("INSERT INTO orders (no) VALUES (:no)", {"no": int(rows[0]["n"]) + 1})

    return strategy, work


async def orders(stores: Stores) -> int:
    return int((await stores.database.execute("SELECT COUNT(*) AS n FROM orders")).rows[0]["n"])


def test_a_duplicate_is_swallowed_and_one_with_another_body_is_reported(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy, work = await make_table(stores)
        assert await strategy.run(claim_of("1"), work) is DeliveryVerdict.FIRST
        assert await strategy.run(claim_of("2"), work) is DeliveryVerdict.SWALLOWED
        assert await strategy.run(claim_of("3", body=b"other"), work) is DeliveryVerdict.DIFFERENT_BODY
        assert await orders(stores) == 1

    sql.run(check)


def test_of_many_duplicates_at_once_one_does_the_work(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy, work = await make_table(stores)
        verdicts = await asyncio.gather(*(strategy.run(claim_of(str(n)), work) for n in range(8)))
        assert sorted(verdicts) == [DeliveryVerdict.FIRST] + [DeliveryVerdict.SWALLOWED] * 7
        assert await orders(stores) == 1

    sql.run(check)


def test_work_that_fails_leaves_neither_a_record_nor_half_of_itself(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy, work = await make_table(stores)

        async def half(transaction) -> None:
            await work(transaction)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await strategy.run(claim_of("1"), half)
        assert await orders(stores) == 0
        assert await strategy.run(claim_of("2"), work) is DeliveryVerdict.FIRST

    sql.run(check)


def test_while_the_first_works_the_duplicate_waits_and_works_if_the_first_fails(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy, work = await make_table(stores)
        has_begun, may_fail = asyncio.Event(), asyncio.Event()

        async def failing(transaction) -> None:
            await work(transaction)
            has_begun.set()
            await may_fail.wait()
            raise ZeroDivisionError

        first = asyncio.create_task(strategy.run(claim_of("1"), failing))
        await has_begun.wait()
        second = asyncio.create_task(strategy.run(claim_of("2"), work))
        await asyncio.sleep(0)
        may_fail.set()
        with pytest.raises(ZeroDivisionError):
            await first
        assert await second is DeliveryVerdict.FIRST
        assert await orders(stores) == 1

    sql.run(check)


def test_a_constraint_that_the_work_itself_violates_is_no_duplicate(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy, _ = await make_table(stores)

        async def twice(transaction) -> None:
            for _ in range(2):
                await transaction.execute("INSERT INTO orders (no) VALUES (7)")

        with pytest.raises(UniqueViolation):
            await strategy.run(claim_of("1"), twice)
        assert await orders(stores) == 0
        assert await stores.first.find(claim_of("1").key, START_MS) is None

    sql.run(check)


def test_work_that_says_it_is_done_is_swallowed_and_leaves_nothing(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy, work = await make_table(stores)

        async def done(transaction) -> None:
            await work(transaction)
            raise AlreadyDone

        assert await strategy.run(claim_of("1"), done) is DeliveryVerdict.SWALLOWED
        assert await orders(stores) == 0

    sql.run(check)


def test_after_the_retention_a_deliberate_replay_works_again_at_its_second_delivery(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy, work = await make_table(stores)
        await strategy.run(claim_of("1"), work)
        later_ms = START_MS + RETENTION_MS
        assert await strategy.run(claim_of("2", later_ms), work) is DeliveryVerdict.BOUNCED
        assert await strategy.run(claim_of("3", later_ms), work) is DeliveryVerdict.FIRST
        assert await orders(stores) == 2

    sql.run(check)


def test_two_late_duplicates_forget_the_old_record_and_never_the_new_one(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy, work = await make_table(stores)
        await strategy.run(claim_of("1"), work)
        old = await stores.first.find(claim_of("1").key, START_MS)
        assert old is not None
        later_ms = START_MS + RETENTION_MS
        await strategy.run(claim_of("2", later_ms), work)
        await strategy.run(claim_of("3", later_ms), work)
        await strategy.records.forget(old)  # the other one, which has looked before and acts now
        assert await strategy.run(claim_of("4", later_ms), work) is DeliveryVerdict.SWALLOWED

    sql.run(check)


def test_a_record_that_a_state_table_has_under_way_bounces_the_duplicate_and_stays(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy, work = await make_table(stores)
        assert await stores.first.take(claim_of("1")) is Taking.FIRST
        assert await strategy.run(claim_of("2"), work) is DeliveryVerdict.BOUNCED
        assert (await stores.first.find(claim_of("1").key, START_MS)).owner == "1"
        assert await orders(stores) == 0

    sql.run(check)


def test_a_commit_whose_answer_is_lost_comes_again_and_is_swallowed(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy, work = await make_table(stores)

        async def work_and_lose_the_answer(transaction) -> None:
            await work(transaction)
            commit = transaction.commit

            async def commit_unheard() -> None:
                await commit()
                raise StoreUnreachable("the answer was lost")

            transaction.commit = commit_unheard

        with pytest.raises(StoreUnreachable):
            await strategy.run(claim_of("1"), work_and_lose_the_answer)
        assert await strategy.run(claim_of("2"), work) is DeliveryVerdict.SWALLOWED
        assert await orders(stores) == 1

    sql.run(check)
