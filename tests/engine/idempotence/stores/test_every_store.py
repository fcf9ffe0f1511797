"""What the state table asks of its store, held against every store there is."""

from __future__ import annotations

import asyncio

import pytest

from engine.idempotence.foundation.errors import SchemaOutdated
from engine.idempotence.foundation.record import Claim, RecordKey, RecordState, Taking
from engine.idempotence.stores.redis_record_store import PREFIX
from engine.idempotence.stores.sql_record_store import SqlRecordStore
from tests.support.idempotence.store_kinds import StoreKind, Stores

KEY = RecordKey("shop", "order-1")
EXPIRY_MS = 600_000
RETENTION_MS = 86_400_000
#: Longer than a test takes: Redis counts by a clock of its own.
SLACK_MS = 60_000
FIRST = Claim(KEY, "owner-1", "digest-1", "message-1", now_ms=1_000, expiry_ms=EXPIRY_MS)
#: A duplicate while the first is at it, and one after its expiry.
SECOND = FIRST._replace(owner="owner-2", message_id="message-2", now_ms=2_000)
LATER = SECOND._replace(now_ms=1_000 + EXPIRY_MS)

AWKWARD_KEYS = [
    "Order-1",
    "ORDER-1",
    "order-1 ",
    " order-1",
    "order-1\u0301",
    "ordér-1",
    "orde\u0301r-1",
    "straße",
    "strasse",
    "订单-1",
    "订单\u3000-1",
    "order\u00a01",
    "order 1",
    "order\u200b-1",
    "order\u2028-1",
    "🍎",
    "🍏",
    "a:b",
    "a%3Ab",
    "100%",
    "*",
    "[a]?\\",
    "'; DROP TABLE idempotence_record; --",
    ":name",
    "k" * 255,
    "漢" * 255,
    "🍎" * 255,
]


def test_the_first_taker_works_and_the_other_learns_so(kind: StoreKind):
    async def check(stores: Stores) -> None:
        assert await stores.first.take(FIRST) is Taking.FIRST
        assert await stores.second.take(SECOND) is Taking.BUSY
        record = await stores.second.find(KEY, 2_000)
        assert record is not None
        assert record[:6] == (KEY, RecordState.CONSUMING, "owner-1", "digest-1", "message-1", 1_000)
        assert 0 < record.expires_ms <= 2_000 + EXPIRY_MS

    kind.run(check)


def test_of_many_that_take_at_once_one_wins(kind: StoreKind):
    async def check(stores: Stores) -> None:
        for number in range(10):
            claims = [FIRST._replace(key=RecordKey("shop", f"order-{number}"), owner=f"owner-{n}") for n in range(8)]
            takers = [(stores.first, stores.second)[n % 2].take(claim) for n, claim in enumerate(claims)]
            assert sorted(await asyncio.gather(*takers)) == [Taking.BUSY] * 7 + [Taking.FIRST]

    kind.run(check)


def test_a_claim_whose_answer_was_lost_and_that_is_sent_again_is_the_same_claim(kind: StoreKind):
    async def check(stores: Stores) -> None:
        assert await stores.first.take(FIRST) is Taking.FIRST
        assert await stores.first.take(FIRST) is Taking.FIRST
        assert await stores.first.complete(KEY, "owner-1", 2_000, RETENTION_MS)
        assert await stores.first.take(FIRST) is Taking.CONSUMED

    kind.run(check)


def test_a_purge_deletes_nothing_that_still_counts(kind: StoreKind):
    async def check(stores: Stores) -> None:
        assert await stores.first.take(FIRST) is Taking.FIRST
        assert await stores.second.purge(LATER.now_ms) == 0  # its owner may be late, but it is not done
        assert await stores.first.complete(KEY, "owner-1", 2_000, RETENTION_MS)
        assert await stores.second.purge(2_000 + RETENTION_MS - 1) == 0
        assert await stores.first.take(SECOND) is Taking.CONSUMED
        if kind.reports_takeover:  # else its time to live deletes by itself
            assert await stores.second.purge(2_000 + RETENTION_MS) == 1
            assert await stores.first.take(SECOND) is Taking.FIRST

    kind.run(check)


def test_what_is_done_is_not_taken_again_until_its_retention_is_over(kind: StoreKind):
    async def check(stores: Stores) -> None:
        await stores.first.take(FIRST)
        assert await stores.first.complete(KEY, "owner-1", 3_000, RETENTION_MS)
        assert await stores.second.take(SECOND) is Taking.CONSUMED
        assert await stores.second.take(LATER) is Taking.CONSUMED, "the expiry is that of consuming"
        await stores.let_expire(KEY)
        forgotten = LATER._replace(now_ms=3_000 + RETENTION_MS)
        assert await stores.second.take(forgotten) is Taking.FIRST
        assert (await stores.first.find(KEY, forgotten.now_ms)).owner == "owner-2"

    kind.run(check)


def test_the_record_of_a_dead_consumer_is_taken_over_by_one(kind: StoreKind):
    async def check(stores: Stores) -> None:
        await stores.first.take(FIRST)
        await stores.let_expire(KEY)
        claims = [LATER._replace(owner=f"owner-{number}") for number in range(2, 8)]
        takers = [(stores.first, stores.second)[n % 2].take(claim) for n, claim in enumerate(claims)]
        won = Taking.TAKEN_OVER if kind.reports_takeover else Taking.FIRST
        assert sorted(await asyncio.gather(*takers)) == sorted([Taking.BUSY] * 5 + [won])

    kind.run(check)


def test_who_has_failed_lets_the_next_one_work(kind: StoreKind):
    async def check(stores: Stores) -> None:
        await stores.first.take(FIRST)
        assert await stores.first.release(KEY, "owner-1")
        assert await stores.second.find(KEY, 2_000) is None
        assert await stores.second.take(SECOND) is Taking.FIRST

    kind.run(check)


def test_a_late_finisher_leaves_the_record_of_the_new_owner_alone(kind: StoreKind):
    async def check(stores: Stores) -> None:
        await stores.first.take(FIRST)
        await stores.let_expire(KEY)
        await stores.second.take(LATER)
        assert not await stores.first.complete(KEY, "owner-1", LATER.now_ms + 1, RETENTION_MS)
        record = await stores.first.find(KEY, LATER.now_ms + 1)
        assert (record.state, record.owner) == (RecordState.CONSUMING, "owner-2")

    kind.run(check)


def test_a_late_deleter_leaves_the_record_of_the_new_owner_alone(kind: StoreKind):
    async def check(stores: Stores) -> None:
        await stores.first.take(FIRST)
        await stores.let_expire(KEY)
        await stores.second.take(LATER)
        assert not await stores.first.release(KEY, "owner-1")
        assert await stores.first.take(LATER._replace(owner="owner-3")) is Taking.BUSY

    kind.run(check)


def test_without_a_token_the_late_ones_change_what_is_anothers(kind: StoreKind):
    async def check(stores: Stores) -> None:
        await stores.second.take(SECOND)
        assert await stores.first.complete(KEY, None, 3_000, RETENTION_MS)
        assert (await stores.second.find(KEY, 3_000)).state is RecordState.CONSUMED
        other = RecordKey("shop", "order-2")
        await stores.second.take(SECOND._replace(key=other))
        assert await stores.first.release(other, None)
        assert await stores.second.find(other, 3_000) is None

    kind.run(check)


def test_who_finishes_when_his_record_has_expired_is_remembered_if_nobody_else_has_taken_it(kind: StoreKind):
    async def check(stores: Stores) -> None:
        for owner in ("owner-1", None):
            key = RecordKey("shop", f"order of {owner}")
            await stores.first.take(FIRST._replace(key=key))
            await stores.let_expire(key)
            assert await stores.first.complete(key, owner, LATER.now_ms, RETENTION_MS)
            assert await stores.second.take(LATER._replace(key=key)) is Taking.CONSUMED
            record = await stores.second.find(key, LATER.now_ms)
            assert LATER.now_ms + RETENTION_MS - SLACK_MS < record.expires_ms <= LATER.now_ms + RETENTION_MS

    kind.run(check)


def test_what_is_done_is_never_released_nor_what_is_not_there(kind: StoreKind):
    async def check(stores: Stores) -> None:
        assert not await stores.first.release(KEY, None)
        await stores.first.take(FIRST)
        await stores.first.complete(KEY, "owner-1", 2_000, RETENTION_MS)
        assert not await stores.first.release(KEY, "owner-1")
        assert not await stores.first.release(KEY, None)
        assert await stores.second.take(SECOND) is Taking.CONSUMED

    kind.run(check)


@pytest.mark.parametrize("is_done", [False, True])
def test_a_key_that_comes_with_another_body_is_reported(kind: StoreKind, is_done: bool):
    async def check(stores: Stores) -> None:
        await stores.first.take(FIRST)
        if is_done:
            await stores.first.complete(KEY, "owner-1", 2_000, RETENTION_MS)
        assert await stores.second.take(SECOND._replace(digest="digest-2")) is Taking.DIFFERENT_BODY
        assert await stores.second.take(SECOND._replace(digest="")) is (Taking.CONSUMED if is_done else Taking.BUSY)

    kind.run(check)


def test_keys_that_look_alike_are_different_keys(kind: StoreKind):
    async def check(stores: Stores) -> None:
        for key in AWKWARD_KEYS:
            claim = FIRST._replace(key=RecordKey("shop", key), owner=f"of {key}"[:255])
            assert await stores.first.take(claim) is Taking.FIRST, key
        for key in AWKWARD_KEYS:
            record = await stores.second.find(RecordKey("shop", key), 2_000)
            assert record is not None and record.key.business_key == key
            assert record.owner == f"of {key}"[:255]
        assert {record.key.business_key for record in await stores.second.newest(None, 100)} == set(AWKWARD_KEYS)

    kind.run(check)


def test_scopes_do_not_see_each_other(kind: StoreKind):
    scopes = ["shop", "SHOP", "shop ", "shop:2", "shop%3A2", "shop*", "sh?p", "[shop]", "\\", "%", "s" * 255, "店"]

    async def check(stores: Stores) -> None:
        for number, scope in enumerate(scopes):
            claim = FIRST._replace(key=RecordKey(scope, "order-1"), now_ms=1_000 + number)
            assert await stores.first.take(claim) is Taking.FIRST, scope
        for scope in scopes:
            assert [record.key for record in await stores.second.newest(scope, 10)] == [RecordKey(scope, "order-1")]
        assert [record.key.scope for record in await stores.second.newest(None, 100)] == scopes[::-1]

    kind.run(check)


def test_the_newest_come_first_and_so_many(kind: StoreKind):
    async def check(stores: Stores) -> None:
        for number in range(20):
            key = RecordKey("shop" if number % 2 else "bank", f"order-{number}")
            await stores.first.take(FIRST._replace(key=key, now_ms=1_000 + number))
        found = await stores.second.newest(None, 5)
        assert [record.taken_ms for record in found] == [1_019, 1_018, 1_017, 1_016, 1_015]
        assert [record.taken_ms for record in await stores.second.newest("bank", 2)] == [1_018, 1_016]
        assert await stores.second.newest("nobody", 5) == []

    kind.run(check)


def test_a_purge_deletes_what_is_remembered_no_more_and_nothing_else(kind: StoreKind):
    async def check(stores: Stores) -> None:
        for number, owner in enumerate(("done", "done and remembered", "dead")):
            await stores.first.take(FIRST._replace(key=RecordKey("shop", f"order-{number}"), owner=owner))
        await stores.first.complete(RecordKey("shop", "order-0"), "done", 1_000, 1_000)
        await stores.first.complete(RecordKey("shop", "order-1"), "done and remembered", 1_000, RETENTION_MS)
        await stores.let_expire(RecordKey("shop", "order-0"))
        assert await stores.second.purge(2_000) == (1 if kind.reports_takeover else 0)
        assert await stores.second.purge(2_000) == 0
        found = {record.key.business_key for record in await stores.first.newest("shop", 10)}
        assert found == {"order-1", "order-2"}

    kind.run(check)


def test_a_record_that_is_freed_is_gone_whatever_it_said(kind: StoreKind):
    async def check(stores: Stores) -> None:
        assert not await stores.first.free(KEY)
        await stores.first.take(FIRST)
        await stores.first.complete(KEY, "owner-1", 2_000, RETENTION_MS)
        assert await stores.second.free(KEY)
        assert await stores.second.take(SECOND) is Taking.FIRST
        assert await stores.first.free(KEY)
        # A store that lets expired records go cannot tell this from one.
        is_marked = await stores.first.complete(KEY, "owner-2", 3_000, RETENTION_MS)
        assert is_marked is not kind.reports_takeover

    kind.run(check)


def test_preparing_twice_and_by_two_at_once_changes_nothing(kind: StoreKind):
    async def check(stores: Stores) -> None:
        await stores.first.take(FIRST)
        await asyncio.gather(*(store.prepare() for store in (stores.first, stores.second) * 3))
        assert await stores.second.take(SECOND) is Taking.BUSY

    kind.run(check)


def test_many_that_prepare_an_empty_store_at_once_all_succeed(sql: StoreKind):
    async def check(stores: Stores) -> None:
        for _ in range(5):
            await stores.first.free(KEY)
            for table in ("idempotence_record", "idempotence_schema"):
                await stores.database.execute(f"DROP TABLE {table}")
            await asyncio.gather(*(store.prepare() for store in (stores.first, stores.second) * 3))
            assert await stores.second.take(SECOND) is Taking.FIRST

    sql.run(check)


_FOREIGN = (
    "CREATE TABLE idempotence_record (owner VARCHAR(40), scope VARCHAR(40))",
    "CREATE TABLE idempotence_schema (number INTEGER)",
)


@pytest.mark.parametrize("foreign", _FOREIGN)
def test_a_foreign_table_of_the_same_name_is_refused_and_left_as_it_is(sql: StoreKind, foreign: str):
    async def check(stores: Stores) -> None:
        name = foreign.split()[2]
        await stores.database.execute(f"DROP TABLE {name}")
        await stores.database.execute(foreign)
        assert isinstance(stores.second, SqlRecordStore)
        for look in (stores.second.prepare, stores.second.check):
            with pytest.raises(SchemaOutdated, match=r"idempotence_schema is missing.* or somebody else's"):
                await look()
        assert (await stores.database.execute(f"SELECT * FROM {name}")).rows == ()

    sql.run(check)


@pytest.mark.parametrize("value", ['{"version": 99}', '{"state": "consumed"}', "[]", "consumed"])
def test_what_another_version_has_written_is_refused_by_name(kind: StoreKind, value: str):
    async def check(stores: Stores) -> None:
        if stores.database is not None:
            await stores.first.take(FIRST)
            await stores.database.execute("UPDATE idempotence_record SET state = 'dropped'")
            for look in (stores.second.take(SECOND), stores.second.newest(None, 9)):
                with pytest.raises(SchemaOutdated, match=r"order-1 is dropped, which this version does not know"):
                    await look
            await stores.database.execute("UPDATE idempotence_schema SET version = 99")
            with pytest.raises(SchemaOutdated, match=r"version \[99\].*drop idempotence_record"):
                await stores.second.prepare()
        if stores.redis is not None:
            await stores.redis.execute_command("SET", f"{PREFIX}shop:order-1", value)
            for look in (stores.second.take(SECOND), stores.second.newest(None, 9)):
                with pytest.raises(SchemaOutdated, match=r"order-1 is not a record of this version"):
                    await look

    kind.run(check)
