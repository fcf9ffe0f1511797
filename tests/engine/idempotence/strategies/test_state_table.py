"""The state table: consuming, consumed, expiry, and who owns the record."""

from __future__ import annotations

import asyncio

import pytest

from engine.idempotence.foundation.errors import AlreadyDone, StoreUnreachable
from engine.idempotence.foundation.record import Claim, RecordState
from engine.idempotence.strategies.state_table import StateTable
from engine.idempotence.strategies.strategy import DeliveryVerdict
from tests.support.idempotence.deliveries import START_MS, SetClock, claim_of
from tests.support.idempotence.store_kinds import StoreKind, Stores

EXPIRY_MS = 600_000
LATER_MS = START_MS + EXPIRY_MS


class Works:
    """Work that counts itself; it may be held in its middle."""

    def __init__(self) -> None:
        self.count = 0
        self.has_begun, self.may_end = asyncio.Event(), asyncio.Event()

    async def __call__(self, _transaction: object) -> None:
        self.count += 1

    async def held(self, _transaction: object) -> None:
        self.count += 1
        self.has_begun.set()
        await self.may_end.wait()


async def cancelled(task: asyncio.Task[DeliveryVerdict]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_duplicate_of_what_is_being_done_bounces_and_of_what_is_done_is_swallowed(kind: StoreKind):
    async def check(stores: Stores) -> None:
        works, clock = Works(), SetClock()
        first = asyncio.create_task(StateTable(stores.first, clock).run(claim_of("1"), works.held))
        await works.has_begun.wait()
        other = StateTable(stores.second, clock)
        assert await other.run(claim_of("2"), works) is DeliveryVerdict.BOUNCED
        assert await other.run(claim_of("3", body=b"other"), works) is DeliveryVerdict.DIFFERENT_BODY
        works.may_end.set()
        assert await first is DeliveryVerdict.FIRST
        assert await other.run(claim_of("4"), works) is DeliveryVerdict.SWALLOWED
        assert works.count == 1

    kind.run(check)


@pytest.mark.parametrize("failure", [ZeroDivisionError, asyncio.CancelledError])
def test_work_that_fails_deletes_its_record_also_by_a_cancellation_of_its_own(
    kind: StoreKind, failure: type[BaseException]
):
    async def check(stores: Stores) -> None:
        works, strategy = Works(), StateTable(stores.first, SetClock())

        async def fail(_transaction: object) -> None:
            raise failure

        with pytest.raises(failure):
            await strategy.run(claim_of("1"), fail)
        assert await strategy.run(claim_of("2"), works) is DeliveryVerdict.FIRST

    kind.run(check)


def test_the_record_of_work_that_is_cancelled_stays_as_its_thread_may_still_be_at_it(kind: StoreKind):
    async def check(stores: Stores) -> None:
        works, strategy = Works(), StateTable(stores.first, SetClock())
        first = asyncio.create_task(strategy.run(claim_of("1"), works.held))
        await works.has_begun.wait()
        await cancelled(first)
        assert await StateTable(stores.second, SetClock()).run(claim_of("2"), works) is DeliveryVerdict.BOUNCED
        await stores.let_expire(claim_of("1").key)
        later = await StateTable(stores.second, SetClock()).run(claim_of("3", LATER_MS), works)
        assert later is (DeliveryVerdict.TAKEN_OVER if kind.reports_takeover else DeliveryVerdict.FIRST)

    kind.run(check)


def test_who_is_cancelled_before_the_work_leaves_no_record(kind: StoreKind):
    async def check(stores: Stores) -> None:
        taken = asyncio.Event()

        class TakesLong:
            release = stores.first.release

            async def take(self, claim: Claim) -> None:
                await stores.first.take(claim)
                taken.set()
                await asyncio.Event().wait()

        works = Works()
        strategy = StateTable(TakesLong(), SetClock())  # type: ignore[arg-type]  # what the test needs of a store
        first = asyncio.create_task(strategy.run(claim_of("1"), works))
        await taken.wait()
        await cancelled(first)
        assert await StateTable(stores.second, SetClock()).run(claim_of("2"), works) is DeliveryVerdict.FIRST
        assert works.count == 1

    kind.run(check)


def test_work_that_outlived_its_record_is_remembered_if_nobody_has_taken_it_over(kind: StoreKind):
    async def check(stores: Stores) -> None:
        works, clock = Works(), SetClock()
        first = asyncio.create_task(StateTable(stores.first, clock).run(claim_of("1"), works.held))
        await works.has_begun.wait()
        await stores.let_expire(claim_of("1").key)
        clock.time_ms = LATER_MS
        works.may_end.set()
        assert await first is DeliveryVerdict.FIRST
        assert await StateTable(stores.second, clock).run(claim_of("2", LATER_MS), works) is DeliveryVerdict.SWALLOWED

    kind.run(check)


def test_the_record_of_a_dead_consumer_bounces_all_until_its_expiry_and_is_then_taken_over(kind: StoreKind):
    async def check(stores: Stores) -> None:
        works, clock = Works(), SetClock()
        await stores.first.take(claim_of("dead"))
        strategy = StateTable(stores.second, clock)
        assert await strategy.run(claim_of("2", LATER_MS - 1), works) is DeliveryVerdict.BOUNCED
        await stores.let_expire(claim_of("dead").key)
        taken_over = DeliveryVerdict.TAKEN_OVER if kind.reports_takeover else DeliveryVerdict.FIRST
        assert await strategy.run(claim_of("3", LATER_MS), works) is taken_over
        assert works.count == 1

    kind.run(check)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("checks_owner", [True, False])
def test_who_comes_late_touches_the_record_of_the_new_owner_only_where_nobody_checks(
    kind: StoreKind, fails: bool, checks_owner: bool
):
    async def check(stores: Stores) -> None:
        late, new, clock = Works(), Works(), SetClock()

        async def late_work(transaction: object) -> None:
            await late.held(transaction)
            if fails:
                raise ZeroDivisionError

        old = StateTable(stores.first, clock, checks_owner=checks_owner)
        first = asyncio.create_task(old.run(claim_of("1"), late_work))
        await late.has_begun.wait()
        await stores.let_expire(claim_of("1").key)
        second = asyncio.create_task(StateTable(stores.second, clock).run(claim_of("2", LATER_MS), new.held))
        await new.has_begun.wait()
        late.may_end.set()
        if fails:
            with pytest.raises(ZeroDivisionError):
                await first
        else:
            assert await first is (DeliveryVerdict.LATE_FINISH if checks_owner else DeliveryVerdict.FIRST)
        record = await stores.first.find(claim_of("1").key, LATER_MS)
        if checks_owner:
            assert (record.owner, record.state) == ("2", RecordState.CONSUMING)
        else:
            assert (record and record.state) == (None if fails else RecordState.CONSUMED)
        new.may_end.set()
        await second

    kind.run(check)


def test_work_that_says_it_is_done_is_noted_as_done(kind: StoreKind):
    async def check(stores: Stores) -> None:
        strategy = StateTable(stores.first, SetClock())

        async def done(_transaction: object) -> None:
            raise AlreadyDone

        assert await strategy.run(claim_of("1"), done) is DeliveryVerdict.SWALLOWED
        assert (await stores.first.find(claim_of("1").key, START_MS)).state is RecordState.CONSUMED

    kind.run(check)


class Deaf:
    """A store whose ``complete`` and ``release`` do not answer."""

    def __init__(self, stores: Stores) -> None:
        self.take = stores.first.take

    async def complete(self, *_: object) -> bool:
        raise StoreUnreachable("gone")

    release = complete


def test_work_is_not_given_back_because_its_store_could_not_be_reported(sql: StoreKind):
    async def check(stores: Stores) -> None:
        works = Works()
        strategy = StateTable(Deaf(stores), SetClock())  # type: ignore[arg-type]  # what the test needs of a store
        assert await strategy.run(claim_of("1"), works) is DeliveryVerdict.NOT_MARKED

        async def fail(_transaction: object) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await strategy.run(claim_of("2", LATER_MS), fail)
        assert (
            await StateTable(stores.first, SetClock()).run(claim_of("3", LATER_MS + 1), works)
            is DeliveryVerdict.BOUNCED
        )

    sql.run(check)


def test_what_a_replay_within_the_retention_does_not_do_another_scope_does(kind: StoreKind):
    async def check(stores: Stores) -> None:
        works, strategy = Works(), StateTable(stores.first, SetClock())
        claim = claim_of("1")
        assert await strategy.run(claim, works) is DeliveryVerdict.FIRST
        assert await strategy.run(claim_of("2"), works) is DeliveryVerdict.SWALLOWED
        replay = claim_of("3")._replace(key=claim.key._replace(scope="shop#2"))
        assert await strategy.run(replay, works) is DeliveryVerdict.FIRST

    kind.run(check)
