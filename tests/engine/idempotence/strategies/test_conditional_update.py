"""Natural idempotence: the business's own statement says whether it was done."""

from __future__ import annotations

import asyncio

from engine.idempotence.foundation.errors import AlreadyDone, ComeAgainLater
from engine.idempotence.strategies.conditional_update import ConditionalUpdate, VersionCheck
from engine.idempotence.strategies.strategy import DeliveryVerdict
from tests.support.idempotence.deliveries import claim_of
from tests.support.idempotence.store_kinds import StoreKind, Stores

_PAY = "UPDATE orders SET status = 'PAID', version = version + 1 WHERE no = 1 AND status = 'NEW'"


async def make_order(stores: Stores) -> None:
    await stores.database.execute(
        "CREATE TABLE orders (no INTEGER PRIMARY KEY, status VARCHAR(9) NOT NULL, version INTEGER NOT NULL)"
    )
    await stores.database.execute("INSERT INTO orders (no, status, version) VALUES (1, 'NEW', 0)")


async def version(stores: Stores) -> int:
    return int((await stores.database.execute("SELECT version FROM orders")).rows[0]["version"])


def test_of_many_deliveries_at_once_the_condition_lets_one_through(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await make_order(stores)
        strategy = ConditionalUpdate(stores.database)

        async def pay(transaction) -> None:
            if (await transaction.execute(_PAY)).changed == 0:
                raise AlreadyDone

        verdicts = await asyncio.gather(*(strategy.run(claim_of(str(n)), pay) for n in range(6)))
        assert sorted(verdicts) == [DeliveryVerdict.FIRST] + [DeliveryVerdict.SWALLOWED] * 5
        assert await version(stores) == 1

    sql.run(check)


def test_a_version_that_is_not_there_yet_comes_again_and_one_that_was_is_swallowed(sql: StoreKind):
    async def check(stores: Stores) -> None:
        await make_order(stores)
        strategy = VersionCheck(stores.database)

        def set_version(wanted: int):
            async def work(transaction) -> None:
                update = "UPDATE orders SET version = :new WHERE no = 1 AND version = :seen"
                if (await transaction.execute(update, {"new": wanted, "seen": wanted - 1})).changed:
                    return
                found = int((await transaction.execute("SELECT version FROM orders")).rows[0]["version"])
                raise AlreadyDone if found >= wanted else ComeAgainLater

            return work

        order = [
            (2, DeliveryVerdict.BOUNCED),
            (1, DeliveryVerdict.FIRST),
            (1, DeliveryVerdict.SWALLOWED),
            (2, DeliveryVerdict.FIRST),
        ]
        for wanted, verdict in order:
            assert await strategy.run(claim_of("1"), set_version(wanted)) is verdict
        assert await version(stores) == 2

    sql.run(check)
