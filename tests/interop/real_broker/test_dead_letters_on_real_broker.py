"""``glassmq dead-letters`` and ``glassmq message`` against a real RocketMQ broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from app.command_line import main
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.message.message import Message
from tests.interop.harness.cluster import Cluster

pytestmark = pytest.mark.interop_java


async def _bury(name_server: str, topic: str, group: str, *keys: str, is_dead: Callable[[], bool]) -> None:
    async with DefaultMQProducer(None, "buries", (name_server,)) as producer:
        for key in keys:
            await producer.send(Message(topic, b"body", keys=key))
    consumer = DefaultMQPushConsumer(
        None,
        group,
        (name_server,),
        max_reconsume_times=0,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    )
    consumer.subscribe(topic, "*")
    consumer.register_message_listener(lambda messages, context: ConsumeConcurrentlyStatus.RECONSUME_LATER)
    async with consumer, asyncio.timeout(90):
        while not await asyncio.to_thread(is_dead):
            await asyncio.sleep(0.2)


def test_dead_letters_of_a_real_broker_are_resent_once_and_their_trail_is_reported(real_cluster: Cluster) -> None:
    topic, group = "DeadLettersByHand", "dead_letters_by_hand"

    def tool(*arguments: str) -> str:
        done = CliRunner().invoke(main, [*arguments, "--name-server", real_cluster.name_server], prog_name="glassmq")
        return str(done.output)

    def listed() -> list[str]:
        return [line for line in tool("dead-letters", "list", group).splitlines() if topic in line]

    keys = ("r-0", "r-1", "r-2")
    asyncio.run(_bury(real_cluster.name_server, topic, group, *keys, is_dead=lambda: len(listed()) == len(keys)))
    assert f"resent to {topic} Q" in tool("dead-letters", "resend", group, "r-1", "--to", "topic", "--yes")
    assert "was already resent" in tool("dead-letters", "resend", group, "r-1", "--to", "group", "--yes")
    everything = tool("dead-letters", "resend", group, "--all", "--to", "group", "--yes")
    assert everything.strip() == "2 resent, 1 were resent before, 0 could not be"
    places = [line.split("  ")[-1].strip().split()[0] for line in listed()]
    assert sorted(places) == sorted([topic, f"%RETRY%{group}", f"%RETRY%{group}"])
    reported = tool("message", "--key", "r-1", "--topic", topic).partition("What happened")[2]
    steps = ("produced at", f"stored: {topic}", f"dead letter of group {group}", "resent by hand for dead letter")
    assert [reported.index(words) for words in steps] == sorted(reported.index(words) for words in steps)
