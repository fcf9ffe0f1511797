"""Many parked pulls that wake at once: who is answered when, and what may be parked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from engine.broker.delivery.pull_request_hold_service import HeldPullRequest, PullRequestHoldService
from engine.protocol.command.headers import PullMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.remoting.channel import Channel
from engine.runtime.lab.lab_runtime import LabMachines
from tests.engine.broker.lab_broker import broker_lab


@dataclass(eq=False)
class Peer:
    name: str
    is_open: bool = True
    has_room: bool = True


class Parked:
    """A hold service in a lab world, and what it has answered, one list for each turn of the loop."""

    def __init__(self, world: LabMachines) -> None:
        self.world = world
        self.turns: list[list[str]] = []
        self.reply_bytes = 0
        self._event = -1
        node = world.node("broker")
        self.service = PullRequestHoldService(
            node.clock, lambda topic, queue_id: 1, self._answer, lambda offset, size: None
        )

    def _answer(self, pull: HeldPullRequest) -> int:
        event = self.world.journal.entries[-1].number if self.world.journal.entries else 0
        if self._event != event:
            self.turns.append([])
        self._event = event
        self.turns[-1].append(cast(Any, pull.channel).name)
        return self.reply_bytes

    def park(self, peer: Peer, count: int, subscription: str = "*") -> bool:
        header = PullMessageRequestHeader("g", "T", 0, 0, 32, 0, 0, 60_000, subscription, 1, "TAG")
        request = RemotingCommand.request(RequestCode.PULL_MESSAGE)
        return all(
            self.service.suspend_pull_request(
                HeldPullRequest(cast(Channel, peer), request, header, None, self.service.clock.now_ms(), 60_000, 0)
            )
            for _ in range(count)
        )

    def wake_all(self, run_ms: int = 10) -> None:
        async def wake() -> None:
            self.service.notify_message_arriving("T", 0, 1, None)

        self.world.run(wake(), node="broker")
        self.world.run_for(run_ms)

    @property
    def answered(self) -> list[str]:
        return [name for turn in self.turns for name in turn]


@pytest.fixture
def parked():
    with LabMachines(seed=1) as world:
        yield Parked(world)


def test_few_are_answered_in_one_turn_in_the_order_of_their_arrival(parked):
    greedy, honest = Peer("greedy"), Peer("honest")
    for peer in (greedy, greedy, honest, greedy):
        parked.park(peer, 1)
    parked.wake_all()
    assert parked.turns == [["greedy", "greedy", "honest", "greedy"]]


def test_many_are_answered_a_few_per_turn_and_connection(parked):
    greedy, honest = Peer("greedy"), Peer("honest")
    parked.park(greedy, 1_000)
    parked.park(honest, 3)
    parked.wake_all()
    assert len(parked.answered) == 1_003
    assert len(parked.service) == 0
    assert max(map(len, parked.turns)) <= 64
    assert parked.turns[0] == ["greedy"] * 16 + ["honest"] * 3


def test_large_answers_make_a_turn_shorter(parked):
    parked.reply_bytes = 600_000
    parked.park(Peer("bulk reader"), 40)
    parked.wake_all()
    assert [len(turn) for turn in parked.turns] == [2] * 20


def test_a_connection_that_does_not_read_waits_and_delays_nobody(parked):
    silent, honest = Peer("silent", has_room=False), Peer("honest")
    parked.park(silent, 100)
    parked.park(honest, 100)
    parked.wake_all(1_000)
    assert parked.answered == ["honest"] * 100
    assert len(parked.service) == 100, "what waits for room counts as parked"
    parked.park(honest, 1)
    parked.wake_all()
    assert parked.answered == ["honest"] * 101
    silent.has_room = True
    parked.world.run_for(100)
    assert parked.answered.count("silent") == 100
    assert len(parked.service) == 0


def test_what_parked_pulls_say_is_bounded_all_together(parked):
    peer = Peer("verbose")
    assert parked.park(peer, 16, "a" * 1_000_000)
    assert not parked.park(peer, 1, "a" * 1_000_000)
    assert parked.park(peer, 1)
    parked.wake_all()
    assert parked.park(peer, 16, "a" * 1_000_000)


def test_a_client_that_never_reads_gets_its_share_and_a_woken_pull_of_another_is_answered():
    with broker_lab() as lab:
        silent, consumer, producer = lab.client("silent"), lab.client("consumer"), lab.client("producer")
        producer.create_topic("T")
        for _ in range(40):
            producer.send(body=bytes(8_000))
        silent.pull(offset=40)
        for _ in range(200):
            silent.begin(silent.pull_request(max_messages=32))
        waiting = consumer.begin(consumer.pull_request(offset=40, suspend_ms=15_000))
        for _ in range(200):
            silent.begin(silent.pull_request(offset=40, suspend_ms=15_000))
        lab.world.loop.run_events(450, lab.world.loop.now_us, lambda: False)
        lab.world.pause("silent")
        lab.run_for(100)
        unsent_bytes = lab.broker.server.unsent_bytes
        assert 4_000_000 < unsent_bytes < 5_000_000
        producer.send(body=b"now")
        lab.run_for(10)
        assert waiting.done()
        lab.world.resume("silent")
        lab.run_for(1_000)
        assert lab.broker.server.unsent_bytes == 0
        assert lab.broker.server.cut_connections == 0
        assert len(lab.broker.pull_request_hold_service) == 0
