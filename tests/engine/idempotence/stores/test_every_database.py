"""What strategies ask of a relational database, held against every one: transactions, and errors by their name."""

from __future__ import annotations

import asyncio

import pytest

from engine.idempotence.foundation.errors import StoreUnreachable, TransactionLost, UniqueViolation
from tests.support.idempotence.store_kinds import StoreKind, Stores

_INSERT = "INSERT INTO orders (no, status) VALUES (:no, :status)"


async def make_orders(stores: Stores, *numbers: int) -> None:
    await stores.database.execute("CREATE TABLE orders (no INTEGER PRIMARY KEY, status VARCHAR(40) NOT NULL)")
    for number in numbers:
        await stores.database.execute(_INSERT, {"no": number, "status": "NEW"})


async def orders(stores: Stores) -> dict[int, str]:
    rows = (await stores.database.execute("SELECT no, status FROM orders ORDER BY no")).rows
    return {int(row["no"] or 0): str(row["status"]) for row in rows}


async def fail(stores: Stores) -> None:
    async with stores.database.transaction() as transaction:
        await transaction.execute(_INSERT, {"no": 3, "status": "NEW"})
        raise ZeroDivisionError


def test_what_is_committed_stays_and_what_is_not_is_rolled_back(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await make_orders(stores)
        async with stores.database.transaction() as transaction:
            result = await transaction.execute(_INSERT, {"no": 1, "status": "已付款 🍎"})
            assert (result.rows, result.changed) == ((), 1)
            await transaction.commit()
        async with stores.database.transaction() as transaction:
            await transaction.execute(_INSERT, {"no": 2, "status": "NEW"})
            assert len((await transaction.execute("SELECT no FROM orders")).rows) == 2, "it sees its own"
        with pytest.raises(ZeroDivisionError):
            await fail(stores)
        assert await orders(stores) == {1: "已付款 🍎"}

    sql.run(check)


def test_rows_that_match_count_as_changed_also_where_they_said_so_before(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await make_orders(stores, 1, 2)
        update = "UPDATE orders SET status = 'NEW' WHERE no = :no"
        assert (await stores.database.execute(update, {"no": 1})).changed == 1
        assert (await stores.database.execute(update, {"no": 9})).changed == 0

    sql.run(check)


def test_a_second_row_with_the_key_of_the_first_is_refused_by_name(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await make_orders(stores, 1)
        with pytest.raises(UniqueViolation):
            await stores.database.execute(_INSERT, {"no": 1, "status": "NEW"})
        with pytest.raises(UniqueViolation):
            async with stores.database.transaction() as transaction:
                await transaction.execute(_INSERT, {"no": 1, "status": "NEW"})

    sql.run(check)


def test_a_transaction_in_which_an_error_was_swallowed_commits_all_or_raises(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await make_orders(stores, 1)
        is_committed = False
        try:
            async with stores.database.transaction() as transaction:
                await transaction.execute(_INSERT, {"no": 2, "status": "NEW"})
                with pytest.raises(UniqueViolation):
                    await transaction.execute(_INSERT, {"no": 1, "status": "NEW"})
                await transaction.commit()
                is_committed = True
        except TransactionLost:
            pass
        assert (2 in await orders(stores)) == is_committed, "a quiet rollback would lose the message"

    sql.run(check)


def test_a_statement_that_is_wrong_is_no_fault_of_the_store(sql: StoreKind):
    async def check(stores: Stores) -> None:
        for statement in ("SELEKT 1", "SELECT * FROM no_such_table"):
            with pytest.raises(Exception, match=r"(?i)selekt|no_such_table") as caught:
                await stores.database.execute(statement)
            assert not isinstance(caught.value, StoreUnreachable | TransactionLost)

    sql.run(check)


def test_an_ended_transaction_takes_nothing_more(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await make_orders(stores)
        async with stores.database.transaction() as transaction:
            await transaction.commit()
            with pytest.raises(TransactionLost):
                await transaction.execute(_INSERT, {"no": 1, "status": "NEW"})
        with pytest.raises(TransactionLost):
            await transaction.commit()
        assert await orders(stores) == {}

    sql.run(check)


def test_cancelling_within_a_transaction_leaves_nothing_and_holds_nobody_up(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await make_orders(stores)
        inserted, wait = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            async with stores.database.transaction() as transaction:
                await transaction.execute(_INSERT, {"no": 1, "status": "NEW"})
                inserted.set()
                await wait.wait()

        async def restless() -> None:
            """Is cancelled while a statement is under way."""
            async with stores.database.transaction() as transaction:
                for number in range(1_000):
                    await transaction.execute(_INSERT, {"no": number, "status": "NEW"})

        for coroutine, is_under_way in ((work(), inserted.wait()), (restless(), asyncio.sleep(0))):
            task = asyncio.create_task(coroutine)
            await is_under_way
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await orders(stores) == {}
            async with stores.database.transaction() as transaction:
                await transaction.execute(_INSERT, {"no": 1, "status": "NEW"})
        assert await orders(stores) == {}

    sql.run(check)


def test_one_that_is_cancelled_while_it_waits_for_a_lock_leaves_its_connection_usable(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await make_orders(stores, 1)
        async with stores.database.transaction() as holder:
            await holder.execute("UPDATE orders SET status = 'HELD' WHERE no = 1")
            waiting = [
                asyncio.create_task(stores.database.execute("UPDATE orders SET status = 'WAITED' WHERE no = 1"))
                for _ in range(3)
            ]
            await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            await holder.commit()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert (await stores.database.execute("UPDATE orders SET status = 'DONE' WHERE no = 1")).changed == 1
        assert await orders(stores) == {1: "DONE"}

    sql.run(check)


def test_of_two_in_a_deadlock_one_learns_that_its_transaction_is_lost(served: StoreKind):
    async def check(stores: Stores) -> None:
        await make_orders(stores, 1, 2)
        both_hold_one = asyncio.Barrier(2)

        async def work(first: int, second: int) -> bool:
            async with stores.database.transaction() as transaction:
                update = "UPDATE orders SET status = :status WHERE no = :no"
                await transaction.execute(update, {"no": first, "status": f"by {first}"})
                await both_hold_one.wait()
                try:
                    await transaction.execute(update, {"no": second, "status": f"by {first}"})
                except TransactionLost:
                    with pytest.raises(TransactionLost):
                        await transaction.commit()
                    return False
                await transaction.commit()
                return True

        assert sorted(await asyncio.gather(work(1, 2), work(2, 1))) == [False, True]
        assert len(set((await orders(stores)).values())) == 1, "all of one, nothing of the other"

    served.run(check)


def test_a_wait_for_a_lock_that_is_too_long_is_reported_and_leaves_nothing(served: StoreKind):
    async def check(stores: Stores) -> None:
        await make_orders(stores, 1)
        async with stores.database.transaction() as holder, stores.database.transaction() as other:
            await holder.execute("UPDATE orders SET status = 'HELD' WHERE no = 1")
            await other.execute(_INSERT, {"no": 2, "status": "NEW"})
            with pytest.raises(TransactionLost):
                await other.execute("UPDATE orders SET status = 'OTHER' WHERE no = 1")
            with pytest.raises(TransactionLost):
                await other.commit()
            await holder.commit()
        assert await orders(stores) == {1: "HELD"}

    served.run(check, timeout_ms=1_000)


def test_more_transactions_than_connections_all_come_to_their_end(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await make_orders(stores)

        async def work(number: int) -> None:
            async with stores.database.transaction() as transaction:
                await transaction.execute(_INSERT, {"no": number, "status": "NEW"})
                await asyncio.sleep(0)
                await transaction.commit()

        await asyncio.gather(*(work(number) for number in range(60)))
        assert len(await orders(stores)) == 60

    sql.run(check)
