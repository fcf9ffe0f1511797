"""One entry of the table of kinds of nodes, :mod:`engine.lab.scenario.kinds.node_kinds`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_yaml import Section

#: Most traffics of one node.
TRAFFIC_MAX = 200


@dataclass(frozen=True, slots=True)
class NodeKind:
    """One kind of node, as scenarios describe it.

    :ivar spec: its dataclass; its ``role`` is the kind's name in the text.
    :ivar parse: parses the fields of a node with this name; ``role`` and ``settings`` are common to all kinds.
    :ivar fields: the names of these fields in the text; a node of another kind is refused by naming the kinds that have
        them.
    :ivar configs: the engine's classes whose fields are its settings.
    :ivar checks: check all nodes of a scenario together, once it is parsed; several kinds may share one. ``Section`` is
        that of all nodes. They raise :class:`~engine.lab.scenario.errors.ScenarioError`.
    """

    spec: type[NodeSpec]
    parse: Callable[[str, Section], NodeSpec]
    fields: tuple[str, ...] = ()
    configs: tuple[type, ...] = ()
    checks: tuple[Callable[[Section, Scenario], None], ...] = ()

    @property
    def role(self) -> str:
        """Return the kind's name."""
        return self.spec.role
