"""The controller alone: who registers, who is believed, what leaders may ask for, what a stranger gets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from engine.kafka.client.errors import Disconnected
from engine.kafka.client.network_client import KafkaNetworkClient
from engine.kafka.records.error_code import KafkaErrorCode
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.cluster_image import METADATA, PartitionRecord
from engine.kafka.replication.controller import Controller
from engine.kafka.replication.controller_link import ControllerLink
from engine.kafka.replication.replication_config import ControllerConfig, ReplicationConfig
from engine.kafka.wire.cluster import MetadataRequest, MetadataResponse
from engine.kafka.wire.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from engine.kafka.wire.replication import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    IsrWanted,
    TopicIsrsWanted,
)
from engine.runtime.lab.lab_runtime import LabMachines, LabRuntime

ORDERS = TopicPartition("Orders", 0)
CONFIG = ControllerConfig(topics={"Orders": 2}, brokers=(1, 2, 3), broker_session_timeout_ms=1_000)


class Asking:
    """A controller, and one connection to it."""

    def __init__(self, controller: Controller, client: KafkaNetworkClient, runtime: LabRuntime, address: str) -> None:
        self.controller = controller
        self.client = client
        self.runtime = runtime
        self.address = address

    @property
    def orders(self) -> PartitionRecord:
        return self.controller.image.partitions[ORDERS]

    async def register(self, node: int) -> BrokerRegistrationResponse:
        return await self.client.ask(BrokerRegistrationRequest(node), BrokerRegistrationResponse)

    async def beat(self, node: int, epoch: int) -> int:
        return (await self.client.ask(BrokerHeartbeatRequest(node, epoch), BrokerHeartbeatResponse)).error_code

    async def alter(self, node: int, epoch: int, wanted: IsrWanted, topic: str = "Orders") -> int:
        request = AlterPartitionRequest(node, epoch, (TopicIsrsWanted(topic, (wanted,)),))
        answer = await self.client.ask(request, AlterPartitionResponse)
        return answer.error_code or answer.topics[0].partitions[0].error_code

    async def fetch(self, topic: str, offset: int) -> FetchResponse:
        part = FetchPartition(0, -1, offset, 0, 100_000)
        return await self.client.ask(
            FetchRequest(1, 100, 1, 100_000, 0, 0, -1, (FetchTopic(topic, (part,)),), ()), FetchResponse
        )


@pytest.fixture
def play() -> Callable[[Callable[[Asking], Awaitable[None]]], None]:
    def played(story: Callable[[Asking], Awaitable[None]]) -> None:
        with LabMachines(seed=1) as world:
            server, broker = world.node("Q"), world.node("K1")

            async def run() -> None:
                controller = Controller(server, CONFIG)
                address = await controller.start(server.identity.host_ip, 9093)
                client = KafkaNetworkClient(broker, address, "test", request_timeout_ms=2_000)
                try:
                    await story(Asking(controller, client, broker, address))
                finally:
                    client.close()
                    await controller.shutdown()

            world.run(run(), node="Q")

    return played


def test_partitions_begin_at_one_broker_after_the_other(play):
    async def story(asking: Asking) -> None:
        partitions = asking.controller.image.partitions
        assert [(one.leader, one.replicas, one.isr) for one in partitions.values()] == [
            (1, (1, 2, 3), (1, 2, 3)),
            (2, (2, 3, 1), (2, 3, 1)),
        ]

    play(story)


def test_a_broker_that_registers_again_has_restarted_and_leads_no_more(play):
    async def story(asking: Asking) -> None:
        first = await asking.register(1)
        assert (asking.orders.leader, asking.orders.leader_epoch) == (1, 0)
        second = await asking.register(1)
        assert second.broker_epoch > first.broker_epoch
        assert (asking.orders.leader, asking.orders.leader_epoch, asking.orders.isr) == (2, 1, (1, 2, 3))
        assert await asking.beat(1, first.broker_epoch) == KafkaErrorCode.STALE_BROKER_EPOCH
        assert await asking.beat(1, second.broker_epoch) == KafkaErrorCode.NONE

    play(story)


def test_who_begins_to_read_hears_what_counts_now_and_nothing_that_is_over(play):
    async def story(asking: Asking) -> None:
        for node in (1, 1, 2, 2, 3):
            await asking.register(node)
        reported: list[PartitionRecord] = []
        link = ControllerLink(asking.runtime, 3, asking.address, ReplicationConfig(), reported.append)
        reading = asyncio.create_task(link.read())
        while len(reported) < len(CONFIG.topics) * 2:
            await asyncio.sleep(0.01)
        reading.cancel()
        link.close()
        assert asking.orders.leader_epoch >= 2
        assert reported == list(asking.controller.image.partitions.values())

    play(story)


def test_a_leader_may_ask_only_as_what_it_is_and_only_for_brokers_that_live(play):
    async def story(asking: Asking) -> None:
        epoch = (await asking.register(1)).broker_epoch
        known = asking.orders
        refused = {
            KafkaErrorCode.STALE_BROKER_EPOCH: (1, epoch + 1, IsrWanted(0, 0, (1, 2), known.partition_epoch)),
            KafkaErrorCode.FENCED_LEADER_EPOCH: (1, epoch, IsrWanted(0, 7, (1, 2), known.partition_epoch)),
            KafkaErrorCode.INVALID_UPDATE_VERSION: (1, epoch, IsrWanted(0, 0, (1, 2), known.partition_epoch + 1)),
            KafkaErrorCode.INVALID_REQUEST: (1, epoch, IsrWanted(0, 0, (2, 3), known.partition_epoch)),
            KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (1, epoch, IsrWanted(9, 0, (1, 2), known.partition_epoch)),
        }
        for code, asked in refused.items():
            assert await asking.alter(*asked) == code
        assert asking.orders == known
        assert await asking.alter(1, epoch, IsrWanted(0, 0, (2, 1), known.partition_epoch)) == KafkaErrorCode.NONE
        assert asking.orders.isr == (1, 2)
        asking.controller.heard_ms.pop(3)
        wanted = IsrWanted(0, 0, (1, 2, 3), asking.orders.partition_epoch)
        assert await asking.alter(1, epoch, wanted) == KafkaErrorCode.INELIGIBLE_REPLICA

    play(story)


def test_a_stranger_is_no_broker_and_reads_nothing_but_what_is_decided(play):
    async def story(asking: Asking) -> None:
        assert (await asking.register(9)).error_code == KafkaErrorCode.INVALID_REQUEST
        assert await asking.beat(9, -1) == KafkaErrorCode.STALE_BROKER_EPOCH
        assert (await asking.fetch("Orders", 0)).error_code == KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        (part,) = (await asking.fetch(METADATA.topic, 0)).responses[0].partitions
        assert part.records
        (part,) = (await asking.fetch(METADATA.topic, part.high_watermark)).responses[0].partitions
        assert (part.error_code, part.records) == (KafkaErrorCode.NONE, b"")
        (part,) = (await asking.fetch(METADATA.topic, -5)).responses[0].partitions
        assert part.error_code == KafkaErrorCode.OFFSET_OUT_OF_RANGE
        with pytest.raises(Disconnected):  # as by Kafka: what is not supported ends the connection
            await asking.client.ask(MetadataRequest(None), MetadataResponse)
        assert len(asking.controller.heard_ms) == 3

    play(story)
