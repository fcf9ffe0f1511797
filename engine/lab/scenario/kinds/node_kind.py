"""One entry of the table of kinds of nodes, :mod:`engine.lab.scenario.kinds.node_kinds`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.spec_reader import names_in_text, read_spec

#: Most traffics of one node.
TRAFFIC_MAX = 200


@dataclass(frozen=True, slots=True)
class NodeKind:
    """One kind of node, as scenarios describe it.

    :ivar spec: its dataclass, whose annotations say what the text may give, see
        :mod:`engine.lab.scenario.spec_reader`; its ``role`` is the kind's name in the text.
    :ivar configs: the engine's classes whose fields are its settings.
    :ivar checks: check all nodes of a scenario together, once it is parsed; several kinds may share one. ``Section`` is
        that of all nodes. They raise :class:`~engine.lab.scenario.errors.ScenarioError`.
    :ivar parse: parses the fields of a node with this name, if some of them depend on others.
    """

    spec: type[NodeSpec]
    configs: tuple[type, ...] = ()
    checks: tuple[Callable[[Section, Scenario], None], ...] = ()
    parse: Callable[[str, Section], NodeSpec] | None = None

    @property
    def role(self) -> str:
        """Return the kind's name."""
        return self.spec.role

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of its fields in the text, without those that all kinds have."""
        return names_in_text(self.spec)

    def read(self, name: str, section: Section) -> NodeSpec:
        """Return the node ``name`` without its settings. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
        return read_spec(self.spec, section, name=name) if self.parse is None else self.parse(name, section)
