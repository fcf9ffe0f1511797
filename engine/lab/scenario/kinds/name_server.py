"""Name servers in a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.lab.scenario.kinds.node_kind import NodeKind
from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.name_server.name_server_config import NameServerConfig


@dataclass(frozen=True, kw_only=True)
class NameServerSpec(NodeSpec):
    """A name server: it has no fields of its own."""

    role: ClassVar[str] = "name_server"
    is_server = True
    must_run = True
    has_steps = False


NAME_SERVER = NodeKind(NameServerSpec, (NameServerConfig,))
