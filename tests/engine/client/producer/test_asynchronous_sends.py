"""What an asynchronous send tells its callback: failures, back pressure, the end of its producer. Brokers are stubs."""

from __future__ import annotations

import asyncio

from engine.client import (
    Message,
    MQBrokerError,
    NoRoute,
    RequestFailed,
    SendResult,
    SendStatus,
)
from engine.client.foundation.errors import ClientNotRunning
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.client.producer.producer_stage import Stage
from tests.support.lab.stub_server import refuse, silent, stored


class Outcomes:
    """Collects the arguments of callbacks."""

    def __init__(self) -> None:
        self.results: list[SendResult] = []
        self.errors: list[Exception] = []

    def __call__(self, result: SendResult | None, error: Exception | None) -> None:
        assert (result is None) != (error is None)
        if result is not None:
            self.results.append(result)
        if error is not None:
            self.errors.append(error)

    def __len__(self) -> int:
        return len(self.results) + len(self.errors)


def begin_async(stage: Stage, outcomes: Outcomes, count: int = 1) -> None:
    async def begin() -> None:
        for _ in range(count):
            await stage.producer.send_async(Message("T", b"x"), outcomes)

    stage.world.run(begin(), node="P")


def test_an_asynchronous_send_takes_a_refusal_as_final(stage: Stage):
    stage.both(refuse(ResponseCode.SERVICE_NOT_AVAILABLE))
    outcomes = Outcomes()
    begin_async(stage, outcomes)
    stage.world.run_until(lambda: len(outcomes))
    assert [type(error) for error in outcomes.errors] == [MQBrokerError]
    assert stage.tries == 1


def test_an_asynchronous_send_tries_another_broker_after_silence(stage: Stage):
    stage.world.crash("a")
    stage.b.script(stored())
    outcomes = Outcomes()
    begin_async(stage, outcomes, count=6)
    stage.world.run_until(lambda: len(outcomes) == 6)
    assert {result.message_queue.broker_name for result in outcomes.results} == {"b"}


def test_an_asynchronous_send_tells_a_missing_route_to_its_callback(stage: Stage):
    outcomes = Outcomes()

    async def begin() -> None:
        await stage.producer.send_async(Message("New", b"x"), outcomes)

    stage.world.run(begin(), node="P")
    stage.world.run_until(lambda: len(outcomes))
    assert isinstance(outcomes.errors[0], NoRoute)


def test_a_callback_may_be_a_coroutine_and_may_fail(stage: Stage):
    stage.both(stored())
    outcomes = Outcomes()

    async def callback(result: SendResult | None, error: Exception | None) -> None:
        outcomes(result, error)
        raise RuntimeError("a callback of a user")

    async def begin() -> None:
        await stage.producer.send_async(Message("T", b"x"), callback)

    stage.world.run(begin(), node="P")
    stage.world.run_until(lambda: len(outcomes))
    assert stage.send().status is SendStatus.SEND_OK


def test_awaiting_a_send_slows_the_sender_down_to_what_may_be_in_flight():
    stage = Stage(async_sends_in_flight_max=3)
    stage.both(silent)
    outcomes = Outcomes()
    begun: list[int] = []

    async def begin() -> None:
        for number in range(5):
            await stage.producer.send_async(Message("T", b"x"), outcomes, timeout_ms=500)
            begun.append(number)

    stage.world.spawn(begin(), "sender", stage.world.node("P").node)
    stage.world.run_for(400)
    assert begun == [0, 1, 2]
    assert stage.tries == 3
    stage.world.run_until(lambda: len(outcomes) == 5)
    kinds = sorted(type(error).__name__ for error in outcomes.errors)
    assert kinds == ["RequestFailed"] + ["SendFailed"] * 4, "the fourth waited until its own time was over"
    stage.world.close()


def test_an_asynchronous_send_that_finds_no_place_in_its_time_is_certainly_not_sent():
    stage = Stage(async_sends_in_flight_max=1)
    stage.both(silent)
    outcomes = Outcomes()

    async def begin() -> None:
        await stage.producer.send_async(Message("T", b"x"), outcomes, timeout_ms=2_000)
        await stage.producer.send_async(Message("T", b"x"), outcomes, timeout_ms=300)

    stage.world.run(begin(), node="P")
    stage.world.run_until(lambda: len(outcomes) == 1)
    (error,) = outcomes.errors
    assert isinstance(error, RequestFailed)
    assert error.outcome_is_known
    assert "waited 300 ms for 1 others" in str(error)
    assert (stage.producer.permits.in_flight, stage.producer.permits.waiting) == (1, 0)
    assert stage.tries == 1
    stage.world.close()


def test_the_time_that_an_asynchronous_send_waited_is_taken_from_its_timeout():
    stage = Stage(async_sends_in_flight_max=1)
    stage.both(silent)
    outcomes = Outcomes()

    async def begin() -> None:
        stage.producer.send_async(Message("T", b"x"), outcomes, timeout_ms=400)
        stage.producer.send_async(Message("T", b"x"), outcomes, timeout_ms=600)

    started_us = stage.world.loop.now_us
    stage.world.run(begin(), node="P")
    stage.world.run_until(lambda: len(outcomes) == 2)
    assert 600 <= (stage.world.loop.now_us - started_us) // 1_000 < 650
    assert stage.tries == 2
    stage.world.close()


def test_a_shutdown_lets_asynchronous_sends_end(stage: Stage):
    stage.both(stored())
    outcomes = Outcomes()

    async def begin_and_shut_down() -> None:
        for _ in range(10):
            await stage.producer.send_async(Message("T", b"x"), outcomes)
        await stage.producer.shutdown()

    stage.world.run(begin_and_shut_down(), node="P")
    assert len(outcomes.results) == 10


def test_a_shutdown_tells_every_asynchronous_send_that_does_not_end_so_once():
    """One is under way, the second has its permit and no connection yet, the others wait for a permit."""
    stage = Stage(send_msg_timeout_ms=1_000, async_sends_in_flight_max=2)
    stage.both(silent)
    outcomes = Outcomes()

    async def begin_and_shut_down() -> None:
        for _ in range(1_000):
            stage.producer.send_async(Message("T", b"x"), outcomes, timeout_ms=60_000)
        await stage.producer.shutdown()
        assert len(outcomes.errors) == 1_000, "before shutdown returns"

    stage.world.run(begin_and_shut_down(), node="P", limit_ms=5_000)
    reported = [error.outcome_is_known for error in outcomes.errors if isinstance(error, ClientNotRunning)]
    assert (len(reported), reported.count(False)) == (1_000, 2)
    permits = stage.producer.permits
    assert (permits.in_flight, permits.waiting, permits.waiting_bytes) == (0, 0, 0)
    stage.world.run_for(120_000)
    assert (len(outcomes.errors), outcomes.results) == (1_000, [])
    stage.world.close()


def test_a_callback_that_never_returns_does_not_hold_a_shutdown_up_for_ever():
    stage = Stage(send_msg_timeout_ms=1_000)
    stage.both(stored())
    calls = []

    async def hangs(result: object, error: object) -> None:
        calls.append(error)
        await asyncio.Event().wait()

    async def begin_and_shut_down() -> None:
        await stage.producer.send_async(Message("T", b"x"), hangs)
        await stage.producer.shutdown()

    stage.world.run(begin_and_shut_down(), node="P", limit_ms=5_000)
    assert calls == [None], "the send itself had ended well"
    stage.world.close()


def test_many_sends_that_begin_together_ask_for_the_route_once(stage: Stage):
    stage.both(stored())
    outcomes = Outcomes()
    begin_async(stage, outcomes, count=50)
    stage.world.run_until(lambda: len(outcomes) == 50)
    assert len(outcomes.results) == 50
    assert len(stage.name_server.requests_of(RequestCode.GET_ROUTEINFO_BY_TOPIC)) == 1
