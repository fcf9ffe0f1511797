"""The law of every store: whatever is asked in whatever order, it answers as a table of records on paper would."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.idempotence.foundation.record import Claim, RecordKey, RecordState, Taking
from tests.support.idempotence.store_kinds import StoreKind, Stores

#: Far longer than a test takes: Redis counts by a clock of its own.
EXPIRY_MS, RETENTION_MS = 600_000, 86_400_000
#: Owner -> the digest of its message.
OWNERS = {"A": "body", "B": "body", "C": "other body", "D": ""}
_OWNER = st.sampled_from(list(OWNERS)) | st.none()
KEYS = (RecordKey("shop", "order-1"), RecordKey("shop", "Order-1 "))
_KEY = st.sampled_from(KEYS)
STEPS = st.one_of(
    st.tuples(st.just("take"), _KEY, st.sampled_from(list(OWNERS.items()))),
    st.tuples(st.just("complete"), _KEY, _OWNER),
    st.tuples(st.just("release"), _KEY, _OWNER),
    st.tuples(st.just("free"), _KEY),
    st.tuples(st.just("pass"), st.sampled_from([1, EXPIRY_MS, RETENTION_MS])),
)


class Paper:
    """Key -> state, owner, digest, when it expires; and the answers that follow."""

    def __init__(self, reports_takeover: bool) -> None:
        self.rows: dict[RecordKey, tuple[RecordState, str, str, int]] = {}
        self.reports_takeover = reports_takeover

    def take(self, claim: Claim) -> Taking:
        answer = Taking.FIRST
        if claim.key in self.rows:
            state, owner, digest, expires_ms = self.rows[claim.key]
            is_consuming = state is RecordState.CONSUMING
            if is_consuming and owner == claim.owner:
                pass  # it is its own: the claim was sent twice
            elif expires_ms <= claim.now_ms:
                answer = Taking.TAKEN_OVER if is_consuming and self.reports_takeover else Taking.FIRST
            elif digest and claim.digest and digest != claim.digest:
                return Taking.DIFFERENT_BODY
            else:
                return Taking.BUSY if is_consuming else Taking.CONSUMED
        self.rows[claim.key] = (RecordState.CONSUMING, claim.owner, claim.digest, claim.now_ms + EXPIRY_MS)
        return answer

    def complete(self, key: RecordKey, owner: str | None, now_ms: int) -> bool:
        if key not in self.rows and self.reports_takeover:
            return False
        _, owner_now, digest, _ = self.rows.get(key, (None, owner or "", "", 0))
        if owner not in (None, owner_now):
            return False
        self.rows[key] = (RecordState.CONSUMED, owner_now, digest, now_ms + RETENTION_MS)
        return True

    def release(self, key: RecordKey, owner: str | None) -> bool:
        if key not in self.rows or owner not in (None, self.rows[key][1]):
            return False
        return self.rows[key][0] is RecordState.CONSUMING and self.rows.pop(key) is not None


class Run:
    """Asks the store and the paper the same."""

    def __init__(self, stores: Stores, reports_takeover: bool) -> None:
        self.stores = stores
        self.paper = Paper(reports_takeover)
        self.now_ms = 1_000_000
        self.asked = 0

    async def ask(self, what: str, *arguments: Any) -> None:
        self.asked += 1
        store = (self.stores.first, self.stores.second)[self.asked % 2]
        match what:
            case "take":
                key, (owner, digest) = arguments
                claim = Claim(key, owner, digest, "message", self.now_ms, EXPIRY_MS)
                assert await store.take(claim) == self.paper.take(claim)
            case "complete":
                key, owner = arguments
                reported = await store.complete(key, owner, self.now_ms, RETENTION_MS)
                assert reported == self.paper.complete(key, owner, self.now_ms)
            case "release":
                assert await store.release(*arguments) == self.paper.release(*arguments)
            case "free":
                assert await store.free(*arguments) == (self.paper.rows.pop(*arguments, None) is not None)
            case "pass":
                await self.let_pass(*arguments)

    async def let_pass(self, ms: int) -> None:
        self.now_ms += ms
        for key in [key for key, row in self.paper.rows.items() if row[3] <= self.now_ms]:
            await self.stores.let_expire(key)
            if not self.paper.reports_takeover:
                del self.paper.rows[key]

    async def compare(self, key: RecordKey) -> None:
        record = await self.stores.first.find(key, self.now_ms)
        row = self.paper.rows.get(key)
        assert (record and (record.state, record.owner, record.digest)) == (row and row[:3])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=1, max_size=25))
def test_every_store_answers_as_paper_does(kind: StoreKind, steps: list[tuple]):
    async def check(stores: Stores) -> None:
        run = Run(stores, kind.reports_takeover)
        for step in steps:
            await run.ask(*step)
        for key in KEYS:
            await run.compare(key)

    kind.run(check)


def test_however_many_are_at_it_each_work_is_done_by_one_at_a_time_and_completed_once(kind: StoreKind):
    async def check(stores: Stores) -> None:
        at_it: Counter[RecordKey] = Counter()
        done: Counter[RecordKey] = Counter()
        changed = asyncio.Event()

        def report() -> None:
            nonlocal changed
            before, changed = changed, asyncio.Event()
            before.set()

        async def deliver(number: int) -> None:
            key = RecordKey("shop", f"order-{number % 3}")
            store = (stores.first, stores.second)[number % 2]
            for attempt in itertools.count():
                owner, next_change = f"{number}/{attempt}", changed
                taking = await store.take(Claim(key, owner, "", "m", 1_000, EXPIRY_MS))
                if taking is Taking.CONSUMED:
                    return
                if taking is Taking.FIRST:
                    at_it[key] += 1
                    assert at_it[key] == 1
                    await asyncio.sleep(0)
                    at_it[key] -= 1
                    if attempt % 2:  # the first attempt fails
                        assert await store.complete(key, owner, 1_000, RETENTION_MS)
                        done[key] += 1
                        return report()
                    assert await store.release(key, owner)
                    report()
                else:
                    await next_change.wait()

        async with asyncio.timeout(60):
            await asyncio.gather(*(deliver(number) for number in range(12)))
        assert sorted(done.values()) == [1, 1, 1]

    kind.run(check)
