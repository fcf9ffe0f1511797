"""Requests over topics: the client's half, with a real broker and with one that a test has scripted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from engine.client import (
    ClientNotRunning,
    ConsumeConcurrentlyStatus,
    DefaultMQProducer,
    IllegalClientArgument,
    Message,
    MessageExt,
    MQBrokerError,
    RequestTimedOut,
    SendFailed,
    TooManyPendingRequests,
    create_reply_message,
    is_expired,
    is_request,
    select_message_queue_by_hash,
)
from engine.client.producer.request_future_table import RequestFutureTable
from engine.protocol.request_code import RequestCode
from engine.runtime.lab.lab_runtime import LabMachines
from tests.support.idempotence.deliveries import START_MS
from tests.support.idempotence.deliveries import message as message_of
from tests.support.lab.lab_cluster import LabCluster
from tests.support.lab.stub_server import StubServer, answer_routes, refuse, route_of, silent, stored


class Office:
    """A cluster with one requester, and a responder that answers what its function makes of a request."""

    def __init__(self, cluster: LabCluster, **settings: Any) -> None:
        self.cluster = cluster
        self.requester = cluster.producer("Q", "requesters", **settings)
        self.replier = cluster.producer("R", "responders")
        self.consumer = cluster.push_consumer("R", "responders")
        self.consumer.subscribe("Questions")
        self.consumer.register_message_listener(self._listen)
        self.seen: list[MessageExt] = []
        self.problems: list[Exception] = []
        self.delay_ms = 0
        self.replies = True
        cluster.start(self.requester, self.replier)
        cluster.run(self.requester, self.requester.create_topic("Questions", queue_nums=4))
        cluster.start(self.consumer)
        cluster.world.run_for(3_000)

    async def _listen(self, messages, context):
        for message in messages:
            self.seen.append(message)
            await asyncio.sleep(self.delay_ms / 1_000)
            if self.replies:
                try:
                    await self.replier.send(create_reply_message(message, b"answer to " + message.body))
                except Exception as error:
                    self.problems.append(error)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    def ask(self, body: bytes = b"what?", **arguments: Any) -> MessageExt:
        work = self.requester.request(Message("Questions", body), **arguments)
        return self.cluster.run(self.requester, work)

    def ask_async(self, count: int = 1, **arguments: Any) -> list[tuple[MessageExt | None, Exception | None]]:
        outcomes: list[tuple[MessageExt | None, Exception | None]] = []

        async def begin() -> None:
            for number in range(count):
                message = Message("Questions", str(number).encode())
                self.requester.request_async(message, lambda *outcome: outcomes.append(outcome), **arguments)

        self.cluster.run(self.requester, begin())
        return outcomes


@pytest.fixture
def office(cluster: LabCluster) -> Office:
    return Office(cluster)


def test_a_request_gets_the_reply_to_it(office: Office):
    reply = office.ask()
    assert reply.body == b"answer to what?"
    assert reply.topic == "DefaultCluster_REPLY_TOPIC"
    (request,) = office.seen
    assert is_request(request)
    assert request.properties["TTL"] == "3000"
    assert reply.properties["CORRELATION_ID"] == request.properties["CORRELATION_ID"]
    assert int(reply.properties["ARRIVE_TIME"]) >= int(reply.properties["PUSH_REPLY_TIME"])
    assert office.requester.requester.waiting == 0


def test_the_first_request_of_a_client_is_answered_although_no_heartbeat_was_due_yet(cluster: LabCluster):
    office = Office(cluster)
    late = cluster.producer("Q2", "requesters")

    async def begin() -> MessageExt:
        await late.start()
        await late.send(Message("Questions", b"an ordinary message learns the route"))
        return await late.request(Message("Questions", b"now?"), timeout_ms=900)

    assert cluster.run(late, begin()).body == b"answer to now?"
    assert not office.problems[1:], "the ordinary message cannot be answered"
    assert isinstance(office.problems[0], IllegalClientArgument)


def test_a_long_reply_travels_compressed_and_arrives_as_it_was(office: Office):
    body = b"z" * 10_000
    assert office.ask(body).body == b"answer to " + body


def test_each_of_many_requests_gets_its_own_reply(office: Office):
    outcomes = office.ask_async(count=20)
    office.cluster.world.run_until(lambda: len(outcomes) == 20)
    assert {reply.body for reply, _ in outcomes if reply} == {b"answer to %d" % number for number in range(20)}
    assert len({message.properties["CORRELATION_ID"] for message in office.seen}) == 20


def test_one_message_object_may_be_asked_twice_at_a_time(office: Office):
    message = Message("Questions", b"twice")

    async def both() -> list[MessageExt]:
        return list(await asyncio.gather(office.requester.request(message), office.requester.request(message)))

    replies = office.cluster.run(office.requester, both())
    assert len({reply.properties["CORRELATION_ID"] for reply in replies}) == 2


def test_a_request_goes_to_the_queue_that_is_chosen(office: Office):
    for number in (3, 3, 1):
        office.ask(selector=select_message_queue_by_hash, selector_argument=number)
    assert [message.queue_id for message in office.seen] == [3, 3, 1]


def test_without_a_reply_the_request_fails_when_its_time_is_over_and_says_so(office: Office):
    office.replies = False
    started_us = office.cluster.world.loop.now_us
    with pytest.raises(
        RequestTimedOut, match=r"to topic 'Questions' was sent, but no reply came within 700 ms"
    ) as caught:
        office.ask(timeout_ms=700)
    assert 700 <= (office.cluster.world.loop.now_us - started_us) // 1_000 < 710
    assert not caught.value.outcome_is_known
    assert office.requester.requester.waiting == 0


def test_a_reply_that_comes_too_late_is_taken_by_nobody_and_harms_nobody(office: Office):
    office.delay_ms = 1_000
    with pytest.raises(RequestTimedOut):
        office.ask(timeout_ms=500)
    office.cluster.world.run_for(2_000)
    assert office.problems == [], "the broker could push it"
    office.delay_ms = 0
    assert office.ask(b"again").body == b"answer to again"


def test_an_asynchronous_request_without_a_reply_is_found_by_the_scan(office: Office):
    office.replies = False
    started_us = office.cluster.world.loop.now_us
    outcomes = office.ask_async(timeout_ms=3_500)
    office.cluster.world.run_until(lambda: bool(outcomes))
    assert 3_500 <= (office.cluster.world.loop.now_us - started_us) // 1_000 <= 4_600
    ((reply, error),) = outcomes
    assert reply is None
    assert isinstance(error, RequestTimedOut)


def test_the_callback_of_an_asynchronous_request_is_called_once_and_not_when_it_was_merely_sent(office: Office):
    office.delay_ms = 400
    outcomes = office.ask_async()
    office.cluster.world.run_until(lambda: len(office.seen) == 1)
    office.cluster.world.run_for(300)
    assert outcomes == []
    office.cluster.world.run_for(5_000)
    assert [reply.body for reply, _ in outcomes if reply] == [b"answer to 0"]


def test_a_shutdown_ends_requests_that_wait(office: Office):
    office.replies = False
    outcomes = office.ask_async(count=2, timeout_ms=60_000)
    office.cluster.world.run_for(500)
    started_us = office.cluster.world.loop.now_us
    office.cluster.stop(office.requester)
    assert [type(error) for _, error in outcomes] == [ClientNotRunning] * 2
    assert office.cluster.world.loop.now_us - started_us < 1_000_000


def test_a_responder_learns_that_its_requester_has_left(office: Office):
    office.delay_ms = 1_000
    office.ask_async(timeout_ms=10_000)
    office.cluster.world.run_until(lambda: len(office.seen) == 1)
    office.cluster.stop(office.requester)
    office.cluster.world.run_for(3_000)
    (problem,) = office.problems
    assert isinstance(problem, SendFailed), "code 1 is tried again: another broker might know the requester"
    assert "channel of <" in str(problem)


def test_too_many_requests_at_a_time_are_refused(cluster: LabCluster):
    office = Office(cluster, requests_waiting_max=2)
    office.replies = False
    office.ask_async(count=2)
    with pytest.raises(TooManyPendingRequests, match="2 requests wait for their replies; allowed: 2"):
        office.ask()


def test_a_request_is_answered_again_soon_after_its_broker_was_restarted(office: Office):
    office.ask()
    office.cluster.world.crash("broker-a")
    office.cluster.restart_broker("broker-a")
    office.cluster.world.run_for(5_000)
    assert office.ask(b"still there?").body == b"answer to still there?"


# --- a scripted broker ------------------------------------------------------------------------------------------------


@pytest.fixture
def scripted() -> Iterator[tuple[LabMachines, StubServer, DefaultMQProducer]]:
    world = LabMachines(seed=5)
    name_server, broker = StubServer(world, "ns", 9876), StubServer(world, "a")
    routes = {"T": route_of({"a": broker.address})}
    name_server.script(answer_routes(routes), codes=(RequestCode.GET_ROUTEINFO_BY_TOPIC,))
    producer = DefaultMQProducer(world.node("P"), "g", name_server.address)
    world.run(producer.start(), node="P")
    yield world, broker, producer
    world.close()


def test_a_request_that_a_broker_refuses_fails_with_its_words(scripted):
    world, broker, producer = scripted
    broker.script(refuse(13, "no requests today"))
    with pytest.raises(MQBrokerError, match="no requests today"):
        world.run(producer.request(Message("T", b"x")), node="P")
    outcomes: list[Any] = []

    async def begin() -> None:
        producer.request_async(Message("T", b"x"), lambda reply, error: outcomes.append(error))

    world.run(begin(), node="P")
    world.run_until(lambda: bool(outcomes))
    assert isinstance(outcomes[0], MQBrokerError)
    assert producer.requester.waiting == 0


def test_a_client_sends_a_heartbeat_before_its_first_request_and_not_before_every_one(scripted):
    world, broker, producer = scripted
    broker.script(stored())
    for _ in range(3):
        with pytest.raises(RequestTimedOut):
            world.run(producer.request(Message("T", b"x"), timeout_ms=50), node="P")
    codes = [request.code for request in broker.requests]
    assert codes == [RequestCode.HEART_BEAT] + [RequestCode.SEND_MESSAGE_V2] * 3
    request = broker.sends[0]
    assert f"REPLY_TO_CLIENT\x01{producer.instance.client_id}" in request.ext_fields["i"]


def test_a_reply_counts_although_the_answer_to_the_send_got_lost(scripted):
    world, broker, producer = scripted
    broker.script(silent)
    answered: list[Any] = []

    async def reply_soon() -> None:
        while not broker.sends:
            await asyncio.sleep(0.01)
        (channel,) = broker.server.channels
        properties = broker.sends[0].ext_fields["i"]
        push = _push(properties)
        answered.append(await channel.call(push, 1_000))

    world.spawn(reply_soon(), "pushes", world.node("a").node)
    reply = world.run(producer.request(Message("T", b"x"), timeout_ms=400), node="P")
    assert reply.body == b"42"
    assert answered[0].code == 0


def _push(properties: str) -> Any:
    from engine.protocol.command.headers import ReplyMessageRequestHeader
    from engine.protocol.command.remoting_command import RemotingCommand

    header = ReplyMessageRequestHeader("g", "R", "TBW102", 4, 0, 0, 1, 0, "1.2.3.4:5", "1.2.3.4:6", 2, properties)
    return RemotingCommand.request(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, header, b"42")


# --- parts ------------------------------------------------------------------------------------------------------------


def test_only_a_request_can_be_answered(office: Office):
    office.ask()
    (request,) = office.seen
    for name in ("CLUSTER", "CORRELATION_ID", "REPLY_TO_CLIENT"):
        broken = dict(request.properties)
        del broken[name]
        request.properties, whole = broken, request.properties
        with pytest.raises(IllegalClientArgument, match=f"is not a request: property {name} is missing"):
            create_reply_message(request, b"42")
        request.properties = whole


def test_a_correlation_id_is_a_random_uuid_and_none_comes_twice():
    import uuid

    with LabCluster(seed=1) as cluster:
        producer = cluster.producer("P", "g")
        ids = [producer.requester.mark(Message("T", b"x"), 1) for _ in range(100)]
        assert len(set(ids)) == 100
        assert all(uuid.UUID(text).version == 4 and uuid.UUID(text).variant == uuid.RFC_4122 for text in ids)


def test_the_scan_fails_what_is_over_and_leaves_the_rest():
    class Clock:
        us = 0

        def monotonic_us(self) -> int:
            return self.us

    async def scenario() -> None:
        clock = Clock()
        table = RequestFutureTable(clock, 10)  # type: ignore[arg-type]  # all of the clock that it needs
        short, long = table.put("a", "T", 100), table.put("b", "T", 200)
        clock.us = 100_000
        table.scan_expired_requests()
        assert isinstance(short.response.exception(), RequestTimedOut)
        assert not long.response.done()
        assert table.take("a") is None
        assert table.take("b") is long

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("properties", "age_ms", "expired"),
    [
        ({"TTL": "2000"}, 1_999, False),
        ({"TTL": "2000"}, 2_000, True),
        ({}, 1_000_000, False),
        ({"TTL": "soon"}, 1_000_000, False),
        ({"TTL": "-1"}, 1_000_000, False),
        ({"TTL": "2000", "CLUSTER": None}, 1_000_000, False),
    ],
)
def test_a_request_is_expired_when_nobody_waits_for_its_reply_any_more(properties, age_ms, expired):
    needed = {"CLUSTER": "c", "CORRELATION_ID": "1", "REPLY_TO_CLIENT": "q"}
    found = {name: value for name, value in (needed | properties).items() if value is not None}
    assert is_expired(message_of(1, **found), START_MS + age_ms) is expired
