"""Ways that look right: each does the work once when it is tried, and twice when it counts."""

from __future__ import annotations

import asyncio

import pytest

from engine.idempotence.foundation.errors import UnknownStrategy
from engine.idempotence.foundation.record import DEFAULT_EXPIRY_MS
from engine.idempotence.strategies import tempting
from engine.idempotence.strategies.strategy import DeliveryVerdict, Strategy
from engine.idempotence.strategies.tempting import (
    CheckThenAct,
    LeaseLock,
    MemorySet,
    NoStrategy,
    ReplaceInto,
    SelectForUpdate,
    SetIfAbsent,
)
from tests.support.idempotence.deliveries import START_MS, SetClock, claim_of
from tests.support.idempotence.store_kinds import StoreKind, Stores


async def work_of_two_at_once(strategy: Strategy, second: Strategy | None = None) -> int:
    """Two deliveries, both of which have begun before either ends, if they are let; how much work was done."""
    done = 0
    both_have_begun = asyncio.Barrier(2)

    async def work(_transaction: object) -> None:
        nonlocal done
        done += 1
        try:
            async with asyncio.timeout(0.5):
                await both_have_begun.wait()
        except (TimeoutError, asyncio.BrokenBarrierError):
            pass

    await asyncio.gather(
        strategy.run(claim_of("1"), work), (second or strategy).run(claim_of("2"), work), return_exceptions=True
    )
    return done


async def work_of_two_in_turn(strategy: Strategy) -> list[DeliveryVerdict]:
    async def work(_transaction: object) -> None:
        pass

    return [await strategy.run(claim_of(owner), work) for owner in ("1", "2")]


def test_check_then_act_is_right_in_turn_and_wrong_at_once(sql: StoreKind):
    async def check(stores: Stores) -> None:
        strategy = CheckThenAct(stores.database)
        await strategy.prepare()
        assert await work_of_two_at_once(strategy) == 2
        await stores.database.execute("DELETE FROM idempotence_mark")
        assert await work_of_two_in_turn(strategy) == [DeliveryVerdict.FIRST, DeliveryVerdict.SWALLOWED]

    sql.run(check)


def test_select_for_update_locks_no_missing_row(served: StoreKind):
    async def check(stores: Stores) -> None:
        strategy = SelectForUpdate(stores.database)
        await strategy.prepare()
        assert await work_of_two_at_once(strategy) == 2
        await stores.database.execute("DELETE FROM idempotence_mark")
        assert await work_of_two_in_turn(strategy) == [DeliveryVerdict.FIRST, DeliveryVerdict.SWALLOWED]

    served.run(check)


def test_replace_into_does_the_work_each_time(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await stores.database.execute("SELECT 1")
        if stores.database.dialect == "postgresql":
            with pytest.raises(UnknownStrategy, match="not allowed with postgresql: it has no REPLACE INTO"):
                ReplaceInto(stores.database)
            return
        strategy = ReplaceInto(stores.database)
        await strategy.prepare()
        assert await work_of_two_in_turn(strategy) == [DeliveryVerdict.FIRST, DeliveryVerdict.FIRST]

    sql.run(check)


def test_a_set_in_memory_knows_nothing_of_another_process_nor_of_the_next_one():
    async def check() -> None:
        first = MemorySet()
        assert await work_of_two_at_once(first) == 1
        assert await work_of_two_in_turn(first) == [DeliveryVerdict.SWALLOWED] * 2
        assert await work_of_two_in_turn(MemorySet()) == [DeliveryVerdict.FIRST, DeliveryVerdict.SWALLOWED]
        assert await work_of_two_at_once(MemorySet(), MemorySet()) == 2

    asyncio.run(check())


def test_a_set_in_memory_forgets_what_has_failed_and_what_is_too_old(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempting, "MEMORY_SET_MAX", 2)

    async def check() -> None:
        strategy = MemorySet()

        async def fail(_transaction: object) -> None:
            raise ZeroDivisionError

        async def work(_transaction: object) -> None:
            pass

        with pytest.raises(ZeroDivisionError):
            await strategy.run(claim_of("1"), fail)
        assert await work_of_two_in_turn(strategy) == [DeliveryVerdict.FIRST, DeliveryVerdict.SWALLOWED]
        for number in range(2):
            other = claim_of("1")
            await strategy.run(other._replace(key=other.key._replace(business_key=f"order-{number + 2}")), work)
        assert await strategy.run(claim_of("3"), work) is DeliveryVerdict.FIRST

    asyncio.run(check())


def test_what_is_cancelled_may_still_be_at_work_in_a_thread_and_is_begun_by_nobody_else(sql: StoreKind):
    async def check(stores: Stores) -> None:
        clock = SetClock()
        for strategy in (MemorySet(), LeaseLock(stores.first, clock)):
            begun = asyncio.Event()

            async def work(_transaction: object, begun: asyncio.Event = begun) -> None:
                begun.set()
                await asyncio.Event().wait()

            first = asyncio.create_task(strategy.run(claim_of("1"), work))
            await begun.wait()
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            assert await strategy.run(claim_of("2"), work) is DeliveryVerdict.BOUNCED

    sql.run(check)


def test_a_lease_lock_finds_nothing_done_in_the_record_of_a_state_table_whose_consumer_has_died(sql: StoreKind):
    async def check(stores: Stores) -> None:
        clock = SetClock()
        await stores.first.take(claim_of("dead"))
        clock.time_ms += DEFAULT_EXPIRY_MS
        strategy, done = LeaseLock(stores.first, clock), []

        async def work(_transaction: object) -> None:
            done.append(1)

        verdicts = [await strategy.run(claim_of(owner, clock.time_ms), work) for owner in ("1", "2")]
        assert (verdicts, done) == ([DeliveryVerdict.FIRST, DeliveryVerdict.SWALLOWED], [1])

    sql.run(check)


def test_nothing_is_what_it_says():
    assert asyncio.run(work_of_two_in_turn(NoStrategy())) == [DeliveryVerdict.FIRST] * 2


def test_a_lease_that_ends_while_the_work_goes_on_lets_the_next_one_in(kind: StoreKind):
    async def check(stores: Stores) -> None:
        clock, done = SetClock(), 0
        strategy = LeaseLock(stores.first, clock)
        await strategy.prepare()
        lock = claim_of("1").key._replace(scope="shop locks")
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def slow(_transaction: object) -> None:
            nonlocal done
            done += 1
            begun.set()
            await may_end.wait()

        async def quick(_transaction: object) -> None:
            nonlocal done
            done += 1

        first = asyncio.create_task(strategy.run(claim_of("1", expiry_ms=1_000), slow))
        await begun.wait()
        assert await strategy.run(claim_of("2"), quick) is DeliveryVerdict.BOUNCED, "as long as the lease lasts"
        await stores.let_expire(lock)
        clock.time_ms = START_MS + 1_000
        assert await strategy.run(claim_of("3", clock.time_ms), quick) is DeliveryVerdict.FIRST
        may_end.set()
        await first
        assert done == 2
        assert await strategy.run(claim_of("4", clock.time_ms), quick) is DeliveryVerdict.SWALLOWED

    kind.run(check)


def test_a_key_that_is_set_before_the_work_drops_duplicates_and_what_has_failed(kind: StoreKind):
    async def check(stores: Stores) -> None:
        strategy = SetIfAbsent(stores.first)
        await strategy.prepare()
        assert await work_of_two_at_once(strategy) == 1

        async def fail(_transaction: object) -> None:
            raise ZeroDivisionError

        async def work(_transaction: object) -> None:
            raise AssertionError("the message was dropped")

        other = claim_of("1")._replace(key=claim_of("1").key._replace(business_key="order-2"))
        with pytest.raises(ZeroDivisionError):
            await strategy.run(other, fail)
        long_after = START_MS + DEFAULT_EXPIRY_MS + 1  # the key is kept for the retention, no expiry ends it
        again = other._replace(owner="2", message_id="another", digest="another body", now_ms=long_after)
        assert await strategy.run(again, work) is DeliveryVerdict.SWALLOWED

    kind.run(check)
