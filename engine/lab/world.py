"""A world: the cluster of a scenario in virtual time.

What happens in it is a function of the scenario, the seed and what is done to it from outside
(:mod:`engine.lab.faults`). Starting the nodes is part of the
story: events 1, 2, 3 ... are name servers and brokers coming up.
"""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Self

from engine.lab.broker_role import BrokerRole
from engine.lab.consumer_role import ConsumerRole
from engine.lab.errors import CommandRefused
from engine.lab.faults import apply_command
from engine.lab.history import LabHistory
from engine.lab.link_faults import LinkFaults
from engine.lab.name_server_role import NameServerRole
from engine.lab.node_role import LabNodeRole
from engine.lab.producer_role import ProducerRole
from engine.lab.scenario import NodeSpec, Role, Scenario, ScriptLine
from engine.lab.xa_roles import CoordinatorRole, ManagerRole, ResourceManagerRole
from engine.runtime.lab_runtime import LabWorld

_log = logging.getLogger("glassmq.lab")

#: Entries of the journal that a world keeps. The page shows older ones by running the world again.
JOURNAL_KEPT = 200_000

_ROLES: dict[Role, type[LabNodeRole]] = {
    Role.NAME_SERVER: NameServerRole,
    Role.BROKER: BrokerRole,
    Role.PRODUCER: ProducerRole,
    Role.CONSUMER: ConsumerRole,
    Role.TRANSACTION_COORDINATOR: CoordinatorRole,
    Role.TRANSACTION_MANAGER: ManagerRole,
    Role.RESOURCE_MANAGER: ResourceManagerRole,
}


class ScenarioWorld:
    """See the module. ``seed``: default: the scenario's own.

    :ivar lab: loop, network, disks, journal.
    :ivar nodes: by name, in the order of the scenario.
    :ivar history: what the clients saw.
    :ivar link_faults: what is wrong with the links.
    """

    def __init__(self, scenario: Scenario, seed: int | None = None) -> None:
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else seed
        self.history = LabHistory()
        self.lab = LabWorld(
            self.seed,
            latency_us=round(scenario.latency_ms * 1_000),
            jitter_us=round(scenario.jitter_ms * 1_000),
            bytes_per_s=scenario.bytes_per_s,
            journal_limit=JOURNAL_KEPT,
            raise_failures=False,
        )
        self.link_faults = LinkFaults(self.lab)
        #: Switches that are off on every node, also on those that join later; see :mod:`engine.lab.switches`.
        self.switched_off: dict[str, None] = dict.fromkeys(scenario.switched_off)
        self.nodes: dict[str, LabNodeRole] = {}
        for spec in scenario.nodes:
            self._add(spec)
        self.name_server_address = self._find_name_server().address
        for role in self.nodes.values():
            role.boot()
        self._schedule_script()

    def _schedule_script(self) -> None:
        loop = self.lab.loop
        story = loop.new_actor("story", loop.root.node)
        context = loop.context_of(story)
        for line in self.scenario.script:
            label = f"{line.command.kind} {line.command.target}".strip()
            loop.post(story, context, label, line.at_ms * 1_000, self._follow_script, line)

    def _follow_script(self, line: ScriptLine) -> None:
        try:
            apply_command(self, line.command)
        except CommandRefused as refusal:
            # Somebody outside was quicker: what the script wanted to crash has crashed already.
            _log.info("the script's %s at %d ms is left out: %s", line.command.kind, line.at_ms, refusal)

    def _add(self, spec: NodeSpec) -> LabNodeRole:
        role = self.nodes[spec.name] = _ROLES[spec.role](self, spec)
        return role

    def add_node(self, spec: NodeSpec) -> LabNodeRole:
        """A further machine joins and starts its process. Raises :class:`CommandRefused` for a name in use."""
        if spec.name in self.nodes:
            raise CommandRefused("refusal.node_exists", name=spec.name)
        role = self._add(spec)
        role.boot()
        return role

    def _find_name_server(self) -> NameServerRole:
        for role in self.nodes.values():
            if isinstance(role, NameServerRole):
                return role
        raise AssertionError("a scenario without name server was let through")

    # --- looking ---------------------------------------------------------------------------------------------------

    @property
    def event_number(self) -> int:
        """Number of the event that runs, or ran last."""
        return self.lab.loop.event_number

    @property
    def now_us(self) -> int:
        """Virtual time in microseconds."""
        return self.lab.loop.now_us

    @property
    def end_us(self) -> int:
        """Virtual time at which the story ends."""
        return self.scenario.duration_ms * 1_000

    @property
    def is_over(self) -> bool:
        """Whether the story is told: its time is up, or nothing can happen any more before."""
        return self.now_us >= self.end_us

    def brokers(self) -> list[BrokerRole]:
        """All brokers, in the order of the scenario."""
        return [role for role in self.nodes.values() if isinstance(role, BrokerRole)]

    def producers(self) -> list[ProducerRole]:
        """All producers, in the order of the scenario."""
        return [role for role in self.nodes.values() if isinstance(role, ProducerRole)]

    def consumers(self) -> list[ConsumerRole]:
        """All consumers, in the order of the scenario, then those that joined."""
        return [role for role in self.nodes.values() if isinstance(role, ConsumerRole)]

    # --- end -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Free the world."""
        self.lab.close()
        for role in self.nodes.values():
            # A bank's connection to its database does not end by itself.
            role.crashed()
        self.nodes.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
