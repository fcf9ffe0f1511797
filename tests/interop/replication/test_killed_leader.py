"""The leader of a group is killed under load, ten times: nothing acknowledged is lost, order is kept per queue, and
unmodified clients find the next one.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.client.callbacks.consume_orderly import ConsumeOrderlyStatus
from engine.client.callbacks.send_result import SendStatus
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.foundation.errors import MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.message.message import Message, MessageExt
from tests.interop.harness.clients import DRIVERS
from tests.interop.harness.installs import cpp_client_python, tool
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.rocketmq_jars import driver_jars
from tests.soak.clients import SoakClient
from tests.support.live.group_processes import GroupProcesses
from tests.support.waiting import wait_until

ROUNDS = 10
SENT_BETWEEN_KILLS = 100
_OFTEN: dict[str, Any] = {"poll_name_server_interval_ms": 300}
_DEADLINE_S = 60.0


class Load:
    """Four senders, each to a queue of its own; they number what they send, and send nothing twice.

    :ivar acknowledged: queue -> numbers, in the order of the sends.
    :ivar times_s: when each was acknowledged.
    """

    def __init__(self, name_servers: str) -> None:
        self._producer = DefaultMQProducer(group="p", name_server_addresses=name_servers, **_OFTEN)
        self._must_stop = False
        self.acknowledged: dict[int, list[int]] = defaultdict(list)
        self.times_s: list[float] = []

    async def send_until_stopped(self) -> None:
        async with self._producer:
            await asyncio.gather(*(self._send(queue_id) for queue_id in range(4)))

    def stop(self) -> None:
        self._must_stop = True

    async def _send(self, queue_id: int) -> None:
        number = 0
        while not self._must_stop:
            message = Message("T", f"{queue_id}-{number}".encode())
            try:
                result = await self._producer.send(
                    message, selector=_one_of, selector_argument=queue_id, timeout_ms=2_000
                )
            except MQClientError:
                await asyncio.sleep(0.05)
            else:
                if result.status is SendStatus.SEND_OK:
                    self.acknowledged[queue_id].append(number)
                    self.times_s.append(time.monotonic())
            number += 1

    @property
    def count(self) -> int:
        return len(self.times_s)

    @property
    def longest_gap_s(self) -> float:
        """The longest time in which nothing was acknowledged."""
        return max(later - earlier for earlier, later in zip(self.times_s, self.times_s[1:], strict=False))


def _one_of(queues: Sequence[MessageQueue], message: Message, queue_id: object) -> MessageQueue:
    return next(queue for queue in queues if queue.queue_id == queue_id)


async def consume_all(name_servers: str, wanted: int) -> dict[int, list[int]]:
    """Return what a new group gets of each queue, in order, until it has this many different messages."""
    seen: dict[int, list[int]] = defaultdict(list)

    async def listen(messages: Sequence[MessageExt], context: object) -> ConsumeOrderlyStatus:
        for message in messages:
            seen[message.queue_id].append(int(message.body.decode().rpartition("-")[2]))
        return ConsumeOrderlyStatus.SUCCESS

    consumer = DefaultMQPushConsumer(
        None, "g", name_servers, consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, **_OFTEN
    )
    consumer.subscribe("T")
    consumer.register_message_listener_orderly(listen)
    async with consumer, asyncio.timeout(_DEADLINE_S):
        while sum(len(set(numbers)) for numbers in seen.values()) < wanted:
            await asyncio.sleep(0.05)
    return seen


async def kill_ten_leaders(group: GroupProcesses, load: Load) -> None:
    sending = asyncio.create_task(load.send_until_stopped())
    for _ in range(ROUNDS):
        wanted = load.count + SENT_BETWEEN_KILLS
        async with asyncio.timeout(_DEADLINE_S):
            while load.count < wanted:
                await asyncio.sleep(0.02)
        await asyncio.to_thread(kill_the_leader, group)
    load.stop()
    await sending


def kill_the_leader(group: GroupProcesses) -> None:
    """It comes back as a follower."""
    term, leader = group.leadership()
    group.kill(leader)
    group.next_leader(term)
    group.start(leader)


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_ten_leaders_are_killed_and_nothing_acknowledged_is_lost(tmp_path, record_property):
    with GroupProcesses(tmp_path) as group:
        load = Load(group.name_servers)
        asyncio.run(kill_ten_leaders(group, load))
        print(f"{load.count} acknowledged; the longest time without one: {load.longest_gap_s:.1f} s")
        consumed = asyncio.run(consume_all(group.name_servers, load.count))
        for queue_id, numbers in load.acknowledged.items():
            assert [number for number in numbers if number not in set(consumed[queue_id])] == []
            assert first_times(consumed[queue_id]) == sorted(set(consumed[queue_id]))
        logs = group.stop_all()
    assert len(set(logs.values())) == 1


def first_times(numbers: list[int]) -> list[int]:
    """Without what came again."""
    return list(dict.fromkeys(numbers))


class RealClient:
    """One unmodified client that sends and one that consumes, and what they have reported.

    :ivar acknowledged: numbers, in the order of the sends.
    :ivar consumed: queue -> numbers, as they came.
    """

    def __init__(self, folder: Path, name: str, sends: list[str], consumes: list[str]) -> None:
        self.acknowledged: list[int] = []
        self.consumed: dict[int, list[int]] = defaultdict(list)
        self._clients = [
            SoakClient(start_client(folder, f"{name} {part}", command), ends_by_terminating=name == "C++")
            for part, command in (("sends", sends), ("consumes", consumes))
        ]

    def end_sending(self) -> None:
        self._clients[0].end_sending()

    def read(self) -> None:
        for client in self._clients:
            for event in client.new_events():
                if event["event"] == "sent" and event["status"] == 0:
                    self.acknowledged.append(event["number"])
                elif event["event"] == "message":
                    self.consumed[event["queue"]].append(event["number"])

    def acknowledged_more_than(self, count: int) -> bool:
        self.read()
        return len(self.acknowledged) > count

    def has_consumed_all(self) -> bool:
        self.read()
        return set(self.acknowledged) <= {number for numbers in self.consumed.values() for number in numbers}

    def stop(self) -> None:
        for client in self._clients:
            client.process.stop(grace_s=1.0)


def start_client(folder: Path, name: str, command: list[str]) -> ManagedProcess:
    home = folder / name.replace(" ", "-")
    home.mkdir(parents=True)
    return ManagedProcess(name, command, home / "output.log", {"HOME": str(home)}, home)


def java_client(folder: Path, name_servers: str) -> RealClient:
    """It asks every second where the broker is, instead of every thirty."""

    def command(part: str) -> list[str]:
        settings = ["-Xmx256m", "-Dfile.encoding=UTF-8", f"-Duser.home={folder}", "-Dpoll.ms=1000"]
        work = f"{part}:java:orderly:Java:java"
        return [tool("java"), *settings, "-cp", driver_jars().class_path, "SoakClient", name_servers, work]

    return RealClient(folder, "Java", command("send"), command("consume"))


def cpp_client(folder: Path, name_servers: str) -> RealClient:
    """It asks every thirty seconds: nobody can set that."""

    def command(part: str, *options: str) -> list[str]:
        where = ["--name-server", name_servers, "--group", "cpp", "--topic", "Cpp"]
        return [str(cpp_client_python()), str(DRIVERS / "cpp_client.py"), part, *where, *options]

    send = command("send", "--mode", "selected", "--count", "0", "--enduring", "--timeout-ms", "3000")
    return RealClient(folder, "C++", send, command("consume", "--orderly"))


@pytest.mark.interop_java
@pytest.mark.timeout(900)
def test_java_and_cpp_clients_work_on_through_ten_killed_leaders(tmp_path):
    with GroupProcesses(tmp_path / "group") as group:
        java, cpp = clients = [make(tmp_path, group.name_servers) for make in (java_client, cpp_client)]
        try:
            for client in clients:
                wait_until(partial(client.acknowledged_more_than, 20), "first sends")
            for _ in range(ROUNDS):
                kill_the_leader(group)
                sent = len(java.acknowledged)
                wait_until(partial(java.acknowledged_more_than, sent + 20), "Java's sends to the next leader")
            cpp.read()
            sent = len(cpp.acknowledged)
            wait_until(lambda: cpp.acknowledged_more_than(sent + 20), "the C++ client's sends", deadline_s=120)
            for client in clients:
                client.end_sending()
                wait_until(client.has_consumed_all, "all to be consumed", deadline_s=120)
                for numbers in client.consumed.values():
                    assert first_times(numbers) == sorted(set(numbers))
            print(f"acknowledged: {len(java.acknowledged)} by Java, {len(cpp.acknowledged)} by C++")
        finally:
            for client in clients:
                client.stop()
