"""A world: the cluster of a scenario in virtual time.

What happens in it is a function of the scenario, the seed and what is done to it from outside, by the scenario's script
and by people (:mod:`engine.lab.world.faults`). Starting the nodes is part of the story: events 1, 2, 3 ... are name
servers and brokers coming up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.name_server_node import NameServerNode
from engine.lab.nodes.producer_node import ProducerNode
from engine.lab.nodes.scenario_node import ScenarioNode, WorldContext
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.frame_names import FrameReader
from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.witness.witness import Witness
from engine.lab.world.link_faults import LinkFaults
from engine.lab.world.node_classes import NODE_CLASSES
from engine.runtime.lab.lab_actor import LabActor
from engine.runtime.lab.lab_failures import LabFailure
from engine.runtime.lab.lab_journal import LabJournal
from engine.runtime.lab.lab_link_fault import Parcel
from engine.runtime.lab.lab_runtime import LabMachines

#: Entries of the journal that a world keeps. The page shows older ones by running the world again.
JOURNAL_KEPT = 200_000


class ScenarioWorld(WorldContext):
    """A scenario's world. ``seed``: default: the scenario's own.

    :ivar frame_reader: decodes its frames.
    :ivar link_faults: faults of the links.
    :ivar witness: what has happened in it.
    """

    def __init__(self, scenario: Scenario, seed: int | None = None) -> None:
        self.seed = scenario.seed if seed is None else seed
        lab = LabMachines(
            self.seed,
            latency_us=round(scenario.latency_ms * 1_000),
            jitter_us=round(scenario.jitter_ms * 1_000),
            bytes_per_s=scenario.bytes_per_s,
            journal_limit=JOURNAL_KEPT,
            raise_failures=False,
        )
        super().__init__(scenario, lab)
        self.frame_reader = FrameReader(scenario)
        self.witness = Witness(self, self.frame_reader)
        self.link_faults = LinkFaults(lab, self.witness.frames)
        for spec in scenario.nodes:
            self._add(spec)
        # The parser allows at most one; with only Kafka nodes there is no name server.
        for name_server in self.roles(NameServerNode):
            self.name_server_address = name_server.address
        for role in self.nodes.values():
            role.boot()

    def _add(self, spec: NodeSpec) -> ScenarioNode:
        role = self.nodes[spec.name] = NODE_CLASSES[spec.role](self, spec)
        return role

    def add_node(self, spec: NodeSpec) -> ScenarioNode:
        """Add a machine and start its process. Raises :class:`CommandRefused` for a name in use."""
        if spec.name in self.nodes:
            raise CommandRefused("refusal.node_exists", name=spec.name)
        role = self._add(spec)
        role.boot()
        return role

    # --- queries -----------------------------------------------------------------------------------------------------

    @property
    def journal(self) -> LabJournal:
        """Return what every event did."""
        return self.lab.journal

    @property
    def failures(self) -> Sequence[LabFailure]:
        """Return unhandled exceptions, in the order of events."""
        return self.loop.failures.failures

    def actors(self) -> list[LabActor]:
        """Return everything that runs callbacks now: unfinished tasks, then links."""
        return self.lab.actors()

    def watch_parcels(self, watcher: Callable[[Parcel, tuple[int, ...]], None]) -> None:
        """Call ``watcher`` with every parcel that is sent, and the microseconds after which its copies arrive."""
        self.lab.network.parcel_watchers.append(watcher)

    def run_events(self, count: int, until_us: int, stop: Callable[[], bool]) -> int:
        """Run up to ``count`` events that are due by then, until ``stop()`` after one of them; return how many ran."""
        return self.loop.run_events(count, until_us, stop)

    def let_time_pass(self, until_us: int) -> None:
        """Advance the clock to ``until_us`` without running events. What is due by then is ready."""
        self.loop.schedule.let_time_pass(until_us)

    @property
    def end_us(self) -> int:
        """Return the virtual time at which the story ends."""
        return self.scenario.duration_ms * 1_000

    @property
    def is_over(self) -> bool:
        """Return whether the story is over: its time is up, and whatever is due at that moment has happened.

        So it does not depend on the steps in which the world was run.
        """
        if self.now_us < self.end_us:
            return False
        following = self.loop.schedule.peek()
        return following is None or following.due_us > self.end_us

    def brokers(self) -> list[BrokerNode]:
        """Return all brokers, in the order of the scenario."""
        return self.roles(BrokerNode)

    def producers(self) -> list[ProducerNode]:
        """Return all producers, in the order of the scenario."""
        return self.roles(ProducerNode)

    def consumers(self) -> list[ConsumerNode]:
        """Return all consumers, in the order of the scenario, then those that joined."""
        return self.roles(ConsumerNode)

    # --- end ---------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Free the world."""
        self.lab.close()
        for role in self.nodes.values():
            # A bank's connection to its database does not end by itself.
            role.crashed()
        self.nodes.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
