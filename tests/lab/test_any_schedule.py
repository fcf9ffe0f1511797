"""Members join, leave and crash while the order of everything that may run at once is shuffled."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
)
from tests.support.lab.lab_cluster import LabCluster

MESSAGES = 200
QUEUES = 4


class Scene:
    """One topic, one group; who consumed which offset of which queue."""

    def __init__(self, seed: int) -> None:
        self.cluster = LabCluster(seed, jitter_us=2_000)
        self.consumed: dict[int, set[int]] = {queue_id: set() for queue_id in range(QUEUES)}
        self.bodies: list[str] = []
        self.producer = self.cluster.producer("P", "producers")
        self.cluster.start(self.producer)
        self.cluster.run(self.producer, self.producer.create_topic("T", queue_nums=QUEUES))
        self.cluster.world.loop.schedule.scheduler = random.Random(seed).choice

    def member(self, node: str) -> DefaultMQPushConsumer:
        consumer = self.cluster.push_consumer(
            node,
            "g",
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            consume_thread_min=4,
            consume_thread_max=4,
        )
        consumer.subscribe("T")
        durations = self.cluster.world.node(node).random_for("listener")

        async def listen(
            messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext
        ) -> ConsumeConcurrentlyStatus:
            await asyncio.sleep(durations.random() / 20)
            for message in messages:
                self.consumed[message.queue_id].add(message.queue_offset)
                self.bodies.append(message.body.decode())
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer.register_message_listener(listen)
        self.cluster.start(consumer)
        return consumer

    async def send_all(self) -> None:
        for number in range(MESSAGES):
            await self.producer.send(Message("T", b"%d" % number))
            await asyncio.sleep(0.01)

    def check_progress(self) -> bool:
        """No stored offset passes a message that nobody has consumed. False, so that the run goes on."""
        for queue_id, consumed in self.consumed.items():
            committed = self.cluster.broker.consumer_offset_manager.query_offset("g", "T", queue_id)
            missed = [offset for offset in range(max(0, committed)) if offset not in consumed]
            assert not missed, f"queue {queue_id}: {committed} is stored, but {missed} are not consumed"
        return False


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_and_no_stored_offset_passes_an_unconsumed_message(seed: int):
    scene = Scene(seed)
    world = scene.cluster.world
    first = scene.member("C1")
    world.spawn(scene.send_all(), "sends", world.node("P").node)
    world.run_for(500)
    scene.member("C2")
    world.run_for(500)
    scene.cluster.stop(first)
    scene.check_progress()
    scene.member("C3")
    world.run_for(500)
    world.crash("C2")
    end_us = world.loop.now_us + 60_000_000
    world.run_until(lambda: scene.check_progress() or world.loop.now_us > end_us)
    assert set(scene.bodies) == {str(number) for number in range(MESSAGES)}
    for queue_id, consumed in scene.consumed.items():
        end = scene.cluster.broker.store.max_offset("T", queue_id)
        assert consumed == set(range(end))
        assert scene.cluster.broker.consumer_offset_manager.query_offset("g", "T", queue_id) == end
    scene.cluster.close()
