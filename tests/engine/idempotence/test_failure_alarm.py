"""Stop and alarm."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from engine.idempotence.failure_alarm import FailureAlarm
from engine.idempotence.foundation.errors import ComeAgainLater
from engine.idempotence.strategies.strategy import DeliveryVerdict
from tests.support.idempotence.deliveries import SmallRuntime, message


class Consumer:
    is_suspended = False

    def __init__(self) -> None:
        self.runtime = SmallRuntime()

    def suspend(self) -> None:
        self.is_suspended = True


def delivery(times: int):
    return dataclasses.replace(message(1), reconsume_times=times - 1)


def test_so_many_failed_deliveries_suspend_the_consumer_and_others_do_not():
    consumer = Consumer()
    alarm = FailureAlarm(consumer, after=3)  # type: ignore[arg-type]
    for times, verdict in ((1, None), (2, None), (3, DeliveryVerdict.BOUNCED), (3, DeliveryVerdict.FIRST)):
        alarm(delivery(times), "order-1", verdict)
    assert (consumer.is_suspended, alarm.raised_for) == (False, "")
    alarm(delivery(3), "order-1", None)
    assert (consumer.is_suspended, alarm.raised_for) == (True, "order-1")


def test_a_message_without_a_key_is_reported_by_its_id():
    consumer = Consumer()
    alarm = FailureAlarm(consumer, after=1)  # type: ignore[arg-type]
    alarm(delivery(1), "", None)
    assert (consumer.is_suspended, alarm.raised_for) == (True, "M1")


def test_nothing_is_begun_while_it_is_suspended():
    consumer, done = Consumer(), []

    async def work(one, transaction) -> None:
        done.append(one)

    guarded = FailureAlarm(consumer, after=1).guarded(work)  # type: ignore[arg-type]

    async def deliver() -> None:
        await guarded(delivery(1), None)

    asyncio.run(deliver())
    consumer.suspend()
    with pytest.raises(ComeAgainLater):
        asyncio.run(deliver())
    assert len(done) == 1


def test_never_is_no_number_of_failures():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        FailureAlarm(Consumer(), after=0)  # type: ignore[arg-type]
