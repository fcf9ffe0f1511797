"""A push consumer, in the lab: when it does not pull."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

from engine.client import (
    ConsumeConcurrentlyContext,
    DefaultMQProducer,
    Message,
    MessageExt,
)
from engine.client.queues.consumer_config import MINUTE_MS
from engine.protocol.request_code import RequestCode
from tests.engine.client.push_consumer_world import (
    SUCCESS,
    Heard,
    committed,
    consumer_of,
    queue_of,
    resume,
    send,
)
from tests.support.lab.lab_cluster import LabCluster


def blocked(cluster: LabCluster, producer: DefaultMQProducer, count: int, body: bytes, **settings: Any) -> Any:
    """A consumer whose listener waits for the returned event, after a minute; and its process queue."""
    release = asyncio.Event()

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await release.wait()
        return SUCCESS

    send(cluster, producer, *(Message("T", body) for _ in range(count)))
    consumer = consumer_of(cluster, listen, **settings)
    cluster.world.run_for(MINUTE_MS)
    return release, queue_of(consumer)


def test_pulling_pauses_while_too_many_messages_wait_and_goes_on_afterwards(cluster, producer):
    release, process_queue = blocked(cluster, producer, 200, b"x", pull_threshold_for_queue=50, pull_batch_size=10)
    assert process_queue.msg_count == 60, "one batch beyond the threshold"
    release.set()
    cluster.world.run_until(lambda: committed(cluster) == 200, 60_000)


def test_pulling_pauses_while_too_many_bytes_wait(cluster, producer):
    settings = {"pull_threshold_size_for_queue_mib": 1, "pull_batch_size": 1}
    release, process_queue = blocked(cluster, producer, 40, bytes(100_000), **settings)
    assert 1 << 20 < process_queue.msg_size <= (2 << 20) + 100_000
    release.set()
    cluster.world.run_until(lambda: committed(cluster) == 40, 60_000)


def test_pulling_pauses_while_the_waiting_messages_lie_far_apart(cluster, producer):
    settings = {"consume_concurrently_max_span": 50, "pull_batch_size": 10}
    release, process_queue = blocked(cluster, producer, 200, b"x", **settings)
    assert 50 < process_queue.max_span < 60
    release.set()
    cluster.world.run_until(lambda: committed(cluster) == 200, 60_000)


def test_a_suspended_consumer_pulls_nothing_until_it_is_resumed(cluster, producer):
    heard = Heard(cluster)
    consumer = consumer_of(cluster, heard)
    cluster.world.run_for(1_000)
    consumer.suspend()
    cluster.world.run_for(20_000)
    send(cluster, producer, "while suspended")
    cluster.world.run_for(20_000)
    assert consumer.is_suspended and heard.bodies == []
    cluster.run(consumer, resume(consumer))
    cluster.world.run_until(lambda: heard.messages, 2_000)


def test_a_broker_that_asks_for_a_moments_rest_is_pulled_again_soon(cluster, producer):
    heard = Heard(cluster)
    refused: list[int] = []
    pull = cluster.broker.pull_message_processor.pull_message
    processors = cluster.broker.server.processors._processors

    def refuse_at_first(channel: Any, request: Any) -> Any:
        if len(refused) < 5 and request.ext_fields["topic"] == "T":
            refused.append(cluster.world.loop.now_us)
            return request.reply(215, "flow control")
        return pull(channel, request)

    processors[RequestCode.PULL_MESSAGE] = refuse_at_first
    send(cluster, producer, "x")
    consumer_of(cluster, heard)
    cluster.world.run_until(lambda: heard.messages, 1_000)
    assert all(20_000 <= later - earlier < 30_000 for earlier, later in itertools.pairwise(refused))


def test_a_pull_interval_spaces_the_pulls_of_a_queue(cluster, producer):
    heard = Heard(cluster)
    send(cluster, producer, *(str(number) for number in range(5)))
    consumer_of(cluster, heard, pull_interval_ms=1_000, pull_batch_size=1)
    cluster.world.run_until(lambda: len(heard.messages) == 5, 10_000)
    assert all(later - earlier >= 1 for earlier, later in itertools.pairwise(heard.seconds))
