"""The rehearsal: the consumers of a scenario on a short wire, to try thousands of schedules.

Rebalance, pulling, process queues, the consume services, their locks and the broker's lock table are the engine's own
code, with the same actors and the same steps as on the stage. Left out are frames, links with faults, the name server,
producers, and the broker's store: messages appear in their queues at the times at which the scenario's producers send
them. What is found here is tried on the stage (:mod:`engine.lab.explorer.stage`) before anybody is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.client.callbacks.message_queue_selector import (
    SelectMessageQueueByConsistentHash,
    select_message_queue_by_hash,
)
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.lab.explorer.gated_run import GatedRun, Outcome
from engine.lab.explorer.order_watch import OrderWatch
from engine.lab.explorer.rehearsal_broker import QueueArrivals, RehearsalBroker
from engine.lab.explorer.rehearsal_consumer import Configs, RehearsalConsumer
from engine.lab.explorer.stage import StageSetting, is_watched_lightly
from engine.lab.explorer.stall import Stalls
from engine.lab.nodes.consumer_role import ConsumerRole
from engine.lab.nodes.history import LabHistory
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.scenario import Command, Role
from engine.lab.scenario.switches import BROKER_LOCK
from engine.lab.scenario.traffic_spec import TrafficSpec
from engine.lab.world.faults import apply_command, follow_script
from engine.lab.world.world import ScenarioWorld
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import Message
from engine.runtime.lab.lab_actor import LabActor
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.lab.lab_short_cuts import LabShortCuts

if TYPE_CHECKING:
    from engine.lab.nodes.node_role import LabNodeRole

#: Commands that mean the same here as on the stage.
COMMANDS = ("hold", "release", "pause-node", "resume-node", "lock-switch", "forced-unlock")
#: A producer's first message comes so many latencies later: it asks for the route and connects, each there and back.
FIRST_SEND_LATENCIES = 6


class CannotRehearse(LabError):
    """A schedule of the rehearsal would say nothing about the stage."""


def can_rehearse(setting: StageSetting) -> bool:
    """Whether the rehearsal knows everything that happens in the scenario."""
    scenario = setting.scenario
    kinds = [planned.command.kind for planned in setting.commands] + [line.command.kind for line in scenario.script]
    return (
        is_watched_lightly(setting)
        and len(scenario.of_role(Role.BROKER)) == 1
        and all(kind in COMMANDS for kind in kinds)
        and scenario.bytes_per_s is None
        and all(traffic.batch == 1 for spec in scenario.of_role(Role.PRODUCER) for traffic in spec.traffic)
    )


class RehearsalConsumerRole(ConsumerRole):
    """A consumer on the short wire."""

    world: RehearsalWorld

    def _make_consumer(self, settings: dict[str, Any]) -> DefaultMQPushConsumer:
        world = self.world
        return RehearsalConsumer(self.runtime, self.spec.group, world.broker, settings, world.configs)


class Arrival(NamedTuple):
    """A message that is there from ``time_us`` on."""

    time_us: int
    queue: MessageQueue
    key: str


class RehearsalWorld(ScenarioWorld):
    """A world without brokers, name servers and producers, so it is not built as others are.

    :ivar broker: what stands in their place.
    """

    def __init__(self, rehearsal: Rehearsal) -> None:
        scenario = rehearsal.setting.scenario
        self.scenario = scenario
        self.seed = rehearsal.setting.seed
        self.history = LabHistory()
        self.switched_off: dict[str, None] = dict.fromkeys(scenario.switched_off)
        self.lab = LabMachines(self.seed, latency_us=rehearsal.latency_us, raise_failures=False)
        # Nobody reads a journal here.
        self.lab.loop.on_event = None
        self.nodes: dict[str, LabNodeRole] = {}
        self.broker = RehearsalBroker(
            self.lab.loop,
            LabShortCuts(self.lab.loop),
            rehearsal.broker_name,
            rehearsal.latency_us,
            rehearsal.setting.end_us,
            rehearsal.queues,
            rehearsal.arrivals,
        )
        self.broker.lock_manager.enabled = BROKER_LOCK not in self.switched_off
        self.name_server_address = self.broker.name_server
        self.configs = rehearsal.configs
        for spec in scenario.of_role(Role.CONSUMER):
            self.nodes[spec.name] = RehearsalConsumerRole(self, spec)
        for role in self.nodes.values():
            role.boot()
        follow_script(self)

    def apply(self, command: Command) -> None:
        """Do it, as on the stage."""
        actor = self._find_actor(command.target) if command.kind == "hold" else None
        if actor is not None:
            # As the stage does it, without noting it for pictures: this happens in every schedule.
            duration_ms = command.value["ms"]
            assert isinstance(duration_ms, int)
            self.lab.loop.hold(actor, duration_ms * 1_000)
        elif command.kind == "lock-switch" and command.value["lock"] == BROKER_LOCK:
            self.broker.lock_manager.enabled = bool(command.value["on"])
        else:
            apply_command(self, command)

    def _find_actor(self, name: str) -> LabActor | None:
        node = self.lab.loop.nodes[name.partition("/")[0]]
        return next((task.actor for task in node.tasks if task.actor.name == name and not task.done()), None)


class Rehearsal:
    """:ivar setting: what all schedules have in common.

    Raises :class:`CannotRehearse`.

    :ivar arrivals: the messages of the scenario's producers.
    """

    def __init__(self, setting: StageSetting) -> None:
        scenario = setting.scenario
        if not can_rehearse(setting):
            raise CannotRehearse("refusal.cannot_rehearse", scenario=scenario.name)
        self.setting = setting
        self.latency_us = round(scenario.latency_ms * 1_000)
        self.broker_name = scenario.of_role(Role.BROKER)[0].name
        self.queues = {
            topic.name: tuple(MessageQueue(topic.name, self.broker_name, number) for number in range(topic.queues))
            for topic in scenario.topics
        }
        self.arrivals = _by_queue(self._arrivals())
        #: What schedules share of their consumers.
        self.configs: dict[str, Configs] = {}

    def _arrivals(self) -> Iterator[Arrival]:
        """A producer sends one message after the other, each when the one before is acknowledged."""
        for spec in self.setting.scenario.of_role(Role.PRODUCER):
            for traffic in spec.traffic:
                queues = self.queues[traffic.topic]
                free_us = traffic.start_ms * 1_000 + FIRST_SEND_LATENCIES * self.latency_us
                for number in range(traffic.count):
                    planned_us = (traffic.start_ms + number * traffic.every_ms) * 1_000
                    sent_us = max(planned_us, free_us)
                    free_us = sent_us + 2 * self.latency_us
                    key = traffic.fill_in(traffic.key, spec.name, number)
                    yield Arrival(sent_us + self.latency_us, _queue_of(traffic, queues, number), key)

    def execute(self, stalls: Stalls) -> Outcome:
        """Run one schedule."""
        setting = self.setting
        with RehearsalWorld(self) as world:
            run = GatedRun(
                world.lab.loop,
                setting.nodes,
                stalls,
                apply=world.apply,
                watch=OrderWatch(world, setting.messages),
                plan=setting.commands,
            )
            return run.run(setting.begin_us, setting.end_us)


def _by_queue(arrivals: Iterable[Arrival]) -> dict[MessageQueue, QueueArrivals]:
    queues: dict[MessageQueue, list[Arrival]] = {}
    for arrival in sorted(arrivals, key=lambda arrival: arrival.time_us):
        queues.setdefault(arrival.queue, []).append(arrival)
    return {
        queue: QueueArrivals(tuple(one.time_us for one in found), tuple(one.key for one in found))
        for queue, found in queues.items()
    }


def _queue_of(traffic: TrafficSpec, queues: Sequence[MessageQueue], number: int) -> MessageQueue:
    message = Message(traffic.topic, b"")
    match traffic.queue:
        case "by-hash":
            return select_message_queue_by_hash(queues, message, traffic.business_key(number))
        case "by-consistent-hash":
            return SelectMessageQueueByConsistentHash()(queues, message, traffic.business_key(number))
        case None | "{n}":
            return queues[number % len(queues)]
        case _:
            return queues[int(traffic.queue) % len(queues)]
