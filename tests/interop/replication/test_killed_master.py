"""A master is killed under load, again and again: what its slave has, and who goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.callbacks.send_result import SendStatus
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.foundation.errors import MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.message.message import Message, MessageExt
from tests.interop.harness.ports import free_port
from tests.support.live.glass_process import GlassProcess

#: A slave knows a new topic when it has asked for all of them; by default every 10 s.
_OFTEN = ("--broker-setting", "slaveSynchronizeInterval=200")
ROUNDS = 10
SENT_BEFORE_THE_KILL = 200
_DEADLINE_S = 60.0

pytestmark = pytest.mark.thorough


@contextmanager
def pair(folder: Path, role: str) -> Iterator[tuple[GlassProcess, GlassProcess]]:
    """A master and a slave that is connected to it; each has a name server that knows both."""
    with ExitStack() as stack:
        other = f"127.0.0.1:{free_port()}"
        setting = ("--broker-setting", f"brokerRole={role}")
        master = stack.enter_context(GlassProcess(folder / "master", *setting, "--also-register", other))
        port = other.rpartition(":")[2]
        slave = GlassProcess(folder / "slave", "--slave-of", master.broker, "--name-server-port", port, *_OFTEN)
        yield master, stack.enter_context(slave)


def knows_topic(folder: Path) -> bool:
    """Whether the slave there has heard of topic T."""
    path = folder / "config" / "topics.json"
    return path.exists() and '"T"' in path.read_text()


async def send_until_killed(master: GlassProcess, slave_folder: Path) -> list[str]:
    """Bodies that were acknowledged with SEND_OK; the master is killed once its slave knows the topic."""
    acknowledged: list[str] = []
    async with DefaultMQProducer(group="p", name_server_addresses=master.name_server) as producer:

        async def send(worker: int) -> None:
            for number in range(10_000):
                body = f"<{worker}-{number}>"
                try:
                    result = await producer.send(Message("T", body.encode()), timeout_ms=3_000)
                except MQClientError:
                    if master.process.poll() is not None:
                        return
                else:
                    if result.status is SendStatus.SEND_OK:
                        acknowledged.append(body)

        workers = [asyncio.create_task(send(worker)) for worker in range(4)]
        async with asyncio.timeout(_DEADLINE_S):
            while len(acknowledged) < SENT_BEFORE_THE_KILL or not knows_topic(slave_folder):
                await asyncio.sleep(0.01)
        master.kill()
        await asyncio.gather(*workers)
    return acknowledged


def log_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((folder / "commitlog").iterdir()))


@pytest.mark.timeout(600)
def test_what_a_synchronous_master_acknowledged_its_slave_has_in_every_one_of_ten_rounds(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        with pair(folder, "SYNC_MASTER") as (master, _):
            acknowledged = asyncio.run(send_until_killed(master, folder / "slave"))
        log = log_of(folder / "slave")
        assert len(acknowledged) >= SENT_BEFORE_THE_KILL
        assert [body for body in acknowledged if body.encode() not in log] == []


async def bodies_read(name_servers: str, wanted: int) -> set[str]:
    """Return what a new group gets, until it has this many messages."""
    seen: set[str] = set()

    async def listen(messages: Sequence[MessageExt], context: object) -> ConsumeConcurrentlyStatus:
        seen.update(message.body.decode() for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    consumer = DefaultMQPushConsumer(
        None, "g", name_servers, consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    )
    consumer.subscribe("T")
    consumer.register_message_listener(listen)
    async with consumer, asyncio.timeout(_DEADLINE_S):
        while len(seen) < wanted:
            await asyncio.sleep(0.05)
    return seen


@pytest.mark.timeout(200)
def test_consumers_go_on_from_the_slave_of_a_dead_master(tmp_path: Path) -> None:
    with pair(tmp_path, "SYNC_MASTER") as (master, slave):
        acknowledged = asyncio.run(send_until_killed(master, tmp_path / "slave"))
        servers = f"{master.name_server};{slave.name_server}"
        assert set(acknowledged) <= asyncio.run(bodies_read(servers, len(acknowledged)))


@pytest.mark.timeout(200)
def test_a_slave_needs_a_master_it_can_ask(tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    with pytest.raises(AssertionError, match="does not answer, and this folder has not followed one yet"):
        GlassProcess(tmp_path / "slave", "--slave-of", nowhere).__enter__()
    refusal = "is a slave itself; give the address of its master"
    with pair(tmp_path, "ASYNC_MASTER") as (_, slave), pytest.raises(AssertionError, match=refusal):
        GlassProcess(tmp_path / "third", "--slave-of", slave.broker).__enter__()
