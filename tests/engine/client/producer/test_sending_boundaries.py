"""Where sending could be off by one, by one retry or by one argument: limits of time, of tries, of what is measured."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from engine.client import ClientNotRunning, DefaultMQProducer, Message, RequestFailed, SendFailed, create_reply_message
from engine.client.producer.latency_fault_tolerance import LatencyFaultTolerance
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import decode_properties
from engine.protocol.request_code import RequestCode
from engine.protocol.system_flags import MESSAGE_COMPRESSED
from engine.runtime.lab.lab_runtime import LabMachines
from tests.support.lab.foreign_sender import send_unchecked
from tests.support.lab.stub_server import StubServer, answer_routes, route_of, silent, stored


class Stage:
    """A scripted name server, a scripted broker "a", and producers."""

    def __init__(self) -> None:
        self.world = LabMachines(seed=7)
        self.name_server = StubServer(self.world, "ns", 9876)
        self.broker = StubServer(self.world, "a")
        topics = ("T", "Trace", "%RETRY%g")
        self.name_server.script(
            answer_routes({topic: route_of({"a": self.broker.address}, queues=1) for topic in topics}),
            codes=(RequestCode.GET_ROUTEINFO_BY_TOPIC,),
        )
        self.broker.script(stored())

    def producer(self, **settings: Any) -> DefaultMQProducer:
        made = DefaultMQProducer(self.world.node("P"), "g", self.name_server.address, **settings)
        self.run(made.start())
        return made

    def run(self, work: Any) -> Any:
        return self.world.run(work, node="P", limit_ms=30_000)


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.world.close()


def broken_connection(broker: StubServer) -> Any:
    """An answer that breaks the connection in its place."""

    def answer(request: RemotingCommand) -> None:
        for channel in list(broker.server.channels):
            channel.close()

    return answer


class Outcomes(list[tuple[Any, Exception | None]]):
    """A callback that keeps how everything ended."""

    def __call__(self, result: Any, error: Exception | None) -> None:
        self.append((result, error))


# --- tries and time ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "tries"), [("sync", 2), ("async", 5)])
def test_each_mode_has_a_number_of_tries_of_its_own(stage: Stage, mode: str, tries: int):
    producer = stage.producer(retry_times_when_send_failed=1, retry_times_when_send_async_failed=4)
    stage.broker.script(broken_connection(stage.broker))
    outcomes = Outcomes()

    async def send() -> None:
        if mode == "sync":
            with pytest.raises(SendFailed):
                await producer.send(Message("T", b"x"))
        else:
            await producer.send_async(Message("T", b"x"), outcomes)

    stage.run(send())
    stage.world.run_for(3_100)
    assert len(stage.broker.sends) == tries


def test_a_second_try_has_only_the_time_that_the_first_one_left(stage: Stage):
    producer = stage.producer()
    breaking = broken_connection(stage.broker)

    async def break_late(request: RemotingCommand) -> None:
        await asyncio.sleep(2)
        breaking(request)

    def begin_breaking(request: RemotingCommand) -> None:
        stage.world.spawn(break_late(request), "breaks", stage.world.node("a").node)

    stage.broker.script(begin_breaking, silent)
    started_us = stage.world.loop.now_us
    with pytest.raises(SendFailed, match="tried 2 times"):
        stage.run(producer.send(Message("T", b"x")))
    assert 3_000 <= (stage.world.loop.now_us - started_us) // 1_000 < 3_100


def test_a_send_that_its_caller_gives_up_is_not_held_against_the_broker(stage: Stage):
    producer = stage.producer(send_latency_fault_enable=True)
    stage.broker.script(silent)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await producer.send(Message("T", b"x"))

    stage.run(give_up())
    item = producer.fault_items["a"]
    assert 190 <= item.current_latency_ms <= 200
    assert item.available_from_ms * 1_000 <= stage.world.loop.now_us


# --- which broker when all are avoided --------------------------------------------------------------------------------


class HandClock:
    def monotonic_us(self) -> int:
        return 1_000_000

    def now_ms(self) -> int:
        return 1_000


def picks(*items: tuple[str, int, int]) -> set[str | None]:
    tolerance = LatencyFaultTolerance(HandClock())
    for item in items:
        tolerance.update_fault_item(*item)
    return {tolerance.pick_one_at_least() for _ in range(10)}


def test_of_three_brokers_the_better_half_is_one():
    assert picks(("a", 900, 30_000), ("b", 600, 30_000), ("c", 700, 30_000)) == {"b"}


def test_who_may_be_used_comes_before_who_was_faster_and_then_who_may_be_used_earlier():
    assert picks(("a", 500, 0), ("b", 5, 600_000)) == {"a"}
    assert picks(("a", 5, 600_000), ("b", 5, 30_000)) == {"b"}


# --- asynchronous sends -----------------------------------------------------------------------------------------------


def test_an_asynchronous_send_gives_its_bytes_back_with_its_permit(stage: Stage):
    producer = stage.producer(async_sends_in_flight_max_bytes=100)
    outcomes = Outcomes()

    async def send() -> None:
        for _ in range(5):
            await producer.send_async(Message("T", b"x" * 60), outcomes)

    stage.run(send())
    stage.world.run_until(lambda: len(outcomes) == 5)
    assert (producer.permits.in_flight, producer.permits.in_flight_bytes) == (0, 0)


def test_nobody_waits_for_ever_for_room_in_a_producer_that_is_shut_down(stage: Stage):
    producer = stage.producer(async_sends_in_flight_max=1, send_msg_timeout_ms=500)
    stage.broker.script(silent)
    waited = []

    async def wait_for_room() -> None:
        await producer.send_async(Message("T", b"x"), Outcomes(), timeout_ms=60_000)
        waited.append(1)
        await producer.send_async(Message("T", b"x"), Outcomes(), timeout_ms=60_000)
        waited.append(2)

    stage.world.spawn(wait_for_room(), "waits", stage.world.node("P").node)
    stage.world.run_for(100)
    assert waited == [1]
    stage.run(producer.shutdown())
    stage.world.run_for(100)
    assert waited == [1, 2]


# --- requests ---------------------------------------------------------------------------------------------------------


def test_a_shutdown_ends_requests_also_when_asynchronous_sends_do_not_end(stage: Stage):
    producer = stage.producer(send_msg_timeout_ms=500)
    stage.broker.script(stored(), silent)
    outcomes = Outcomes()

    async def begin_and_shut_down() -> None:
        producer.request_async(Message("T", b"x"), outcomes, timeout_ms=60_000)
        await asyncio.sleep(0.2)
        await producer.send_async(Message("T", b"x"), Outcomes(), timeout_ms=60_000)
        await producer.shutdown()

    stage.run(begin_and_shut_down())
    ((reply, error),) = outcomes
    assert reply is None
    assert isinstance(error, ClientNotRunning)
    assert not error.outcome_is_known, "somebody may have read the request"
    assert producer.requester.waiting == 0


def test_a_message_object_that_is_asked_again_before_it_has_left_keeps_both_requests_apart(stage: Stage):
    producer = stage.producer()
    message = Message("T", b"x")

    async def ask_twice() -> None:
        # The route is not known yet: both wait for it, marked, when the first one is encoded.
        asking = [producer.request(message, timeout_ms=200) for _ in range(2)]
        await asyncio.gather(*asking, return_exceptions=True)

    stage.run(ask_twice())
    ids = {decode_properties(sent.ext_fields["i"])["CORRELATION_ID"] for sent in stage.broker.sends}
    assert len(ids) == 2


def test_a_reply_carries_the_time_to_live_of_its_request():
    properties = {"CLUSTER": "c", "CORRELATION_ID": "1", "REPLY_TO_CLIENT": "q", "TTL": "1234"}
    request = MessageExt(
        topic="T",
        body=b"?",
        properties=properties,
        queue_id=0,
        queue_offset=0,
        commit_log_offset=0,
        born_timestamp=0,
        born_host="1.2.3.4:5",
        store_timestamp=0,
        store_host="1.2.3.4:6",
        flag=0,
        reconsume_times=0,
    )
    assert create_reply_message(request, b"!").properties == {
        "MSG_TYPE": "reply",
        "CORRELATION_ID": "1",
        "REPLY_TO_CLIENT": "q",
        "TTL": "1234",
    }


# --- on the wire ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "is_compressed"), [(4_095, False), (4_096, True)])
def test_a_body_is_compressed_from_the_threshold_on(stage: Stage, size: int, is_compressed: bool):
    stage.run(stage.producer().send(Message("T", b"x" * size)))
    assert bool(int(stage.broker.sends[0].ext_fields["f"]) & MESSAGE_COMPRESSED) is is_compressed


def test_the_limit_of_redeliveries_travels_in_the_header_and_not_among_the_properties(stage: Stage):
    message = Message("%RETRY%g", b"x", properties={"mine": "1"})
    stage.run(send_unchecked(stage.producer(), message, RECONSUME_TIME="3", MAX_RECONSUME_TIMES="16"))
    fields = stage.broker.sends[0].ext_fields
    assert (fields["j"], fields["l"]) == ("3", "16")
    properties = decode_properties(fields["i"])
    assert properties["mine"] == "1"
    assert not {"RECONSUME_TIME", "MAX_RECONSUME_TIMES"} & set(properties)


def test_a_broker_that_does_not_say_whether_to_trace_is_traced(stage: Stage):
    result = stage.run(stage.producer().send(Message("T", b"x")))
    assert "TRACE_ON" not in stored()(stage.broker.sends[0]).ext_fields
    assert result.trace_on


def test_a_request_without_time_is_not_sent(stage: Stage):
    producer = stage.producer()
    for timeout_ms in (0, -5):
        with pytest.raises(RequestFailed, match="before it was sent") as caught:
            stage.run(producer.request(Message("T", b"x"), timeout_ms=timeout_ms))
        assert caught.value.outcome_is_known
    assert stage.broker.sends == []
