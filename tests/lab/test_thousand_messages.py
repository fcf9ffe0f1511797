"""A thousand messages through a whole cluster in virtual time: each consumed once, and the same in every run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQProducer,
    Message,
    MessageExt,
)
from tests.support.lab.lab_cluster import LabCluster

PROJECT = Path(__file__).resolve().parents[2]
MESSAGES = 1_000
TOPIC = "Orders"
GROUP = "shop"

Consumed = dict[str, list[str]]


async def send_all(producer: DefaultMQProducer) -> None:
    """Four senders side by side."""

    async def send_every_fourth(first: int) -> None:
        for number in range(first, MESSAGES, 4):
            await producer.send(Message(TOPIC, b"order %d" % number, keys=f"order-{number}"))

    await asyncio.gather(*(send_every_fourth(first) for first in range(4)))


def run_world(seed: int) -> tuple[str, Consumed, dict[int, int]]:
    """The journal's hash; what each consumer got; the group's committed offset of each queue."""
    consumed: Consumed = {"C1": [], "C2": []}
    with LabCluster(seed, jitter_us=200) as cluster:
        producer = cluster.producer("P1", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic(TOPIC, queue_nums=8))
        consumers = []
        for name in consumed:
            consumer = cluster.push_consumer(name, GROUP, consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
            consumer.subscribe(TOPIC)

            async def listen(
                messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext, name: str = name
            ) -> ConsumeConcurrentlyStatus:
                await asyncio.sleep(0.002)
                consumed[name] += [message.body.decode() for message in messages]
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

            consumer.register_message_listener(listen)
            consumers.append(consumer)
        cluster.start(*consumers)
        cluster.world.run_until(lambda: [len(consumer.process_queues) for consumer in consumers] == [5, 4], 60_000)
        cluster.run(producer, send_all(producer))
        cluster.world.run_until(lambda: sum(map(len, consumed.values())) >= MESSAGES, 60_000)
        cluster.world.run_for(30_000)
        cluster.stop(*consumers, producer)
        offsets = cluster.broker.consumer_offset_manager
        committed = {queue_id: offsets.query_offset(GROUP, TOPIC, queue_id) for queue_id in range(8)}
        return cluster.world.journal.hash, consumed, committed


def test_a_thousand_messages_are_consumed_exactly_once_and_their_offsets_committed():
    _, consumed, committed = run_world(seed=1)
    assert sorted(consumed["C1"] + consumed["C2"]) == sorted(f"order {number}" for number in range(MESSAGES))
    assert consumed["C1"] and consumed["C2"], "both members of the group take part"
    assert committed == dict.fromkeys(range(8), MESSAGES // 8)


@pytest.mark.thorough
def test_the_journal_is_the_same_under_three_hash_seeds_and_another_with_another_seed():
    def journal_hash(world_seed: int, hash_seed: int) -> str:
        code = f"from tests.lab.test_thousand_messages import run_world; print(run_world({world_seed})[0])"
        environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(PROJECT)}
        finished = subprocess.run(
            [sys.executable, "-c", code], cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=300
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout.strip()

    first = journal_hash(7, hash_seed=0)
    assert len(first) == 64
    assert {journal_hash(7, hash_seed) for hash_seed in (1, 4242)} == {first}
    assert journal_hash(8, hash_seed=0) != first
