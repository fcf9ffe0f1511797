"""A node that is the controller of a Kafka cluster, with its disk."""

from __future__ import annotations

from engine.kafka.broker.group_offsets import OFFSETS
from engine.kafka.replication.cluster_image import NO_LEADER, PartitionRecord
from engine.kafka.replication.controller import Controller
from engine.kafka.replication.replication_config import ControllerConfig
from engine.lab.nodes.history import PartitionDecided
from engine.lab.nodes.scenario_node import ScenarioDiskNode, WorldContext
from engine.lab.scenario.kinds.kafka import KafkaBrokerSpec, KafkaControllerSpec

#: Port on which it listens, as Kafka's controllers do.
CONTROLLER_PORT = 9093


class KafkaControllerNode(ScenarioDiskNode):
    """A Kafka controller's node.

    :ivar controller: None while the process does not run.
    """

    spec: KafkaControllerSpec

    engine_name = "controller"
    controller: Controller | None = None

    @property
    def address(self) -> str:
        """Return the address for brokers."""
        return f"{self.runtime.identity.host_ip}:{CONTROLLER_PORT}"

    async def _start(self) -> None:
        topics = {topic.name: topic.queues for topic in self.world.topics(of_kafka=True)}
        brokers = tuple(node_ids(self.world).values())
        config = self.config(ControllerConfig, topics={**topics, OFFSETS.topic: 1}, brokers=brokers)
        self.controller = Controller(self.runtime, config)
        self.controller.on_decided = self._note_decided
        await self.controller.start(self.runtime.identity.host_ip, CONTROLLER_PORT)

    def _note_decided(self, before: PartitionRecord, after: PartitionRecord) -> None:
        if after.topic.startswith("__"):
            return  # a topic of the brokers themselves
        what = _what_changed(before, after)
        if not what:
            return
        names = {number: name for name, number in node_ids(self.world).items()}
        moved = set(before.isr) ^ set(after.isr)
        self.world.history.partitions_decided.append(
            PartitionDecided(
                *self.here_and_now,
                str(after.place),
                what,
                names.get(after.leader, ""),
                after.leader_epoch,
                tuple(names[number] for number in after.replicas if number in moved),
                tuple(names[number] for number in after.isr),
            )
        )


def _what_changed(before: PartitionRecord, after: PartitionRecord) -> str:
    if after.leader != before.leader:
        if after.leader == NO_LEADER:
            return "no_leader"
        return "leads" if after.leader in before.isr else "leads_unclean"
    if len(after.isr) == len(before.isr):
        return ""
    return "grows" if len(after.isr) > len(before.isr) else "shrinks"


def node_ids(world: WorldContext) -> dict[str, int]:
    """Return the Kafka brokers by name, numbered in order."""
    return {spec.name: number for number, spec in enumerate(world.scenario.of_kind(KafkaBrokerSpec), start=1)}
