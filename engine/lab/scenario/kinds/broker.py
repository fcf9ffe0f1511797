"""Brokers in a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.broker.foundation.broker_config import BrokerConfig
from engine.fields.field import Field
from engine.lab.scenario.kinds.node_kind import NodeKind
from engine.lab.scenario.kinds.node_spec import DiskNodeSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_names import NodeName
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.switches import BROKER_LOCK
from engine.store.files.store_config import MessageStoreConfig


@dataclass(frozen=True, kw_only=True)
class BrokerSpec(DiskNodeSpec):
    """A broker.

    :ivar flush: ``async`` or ``sync``.
    :ivar slave_of: the one that it follows; empty: it is a master.
    """

    role: ClassVar[str] = "broker"
    is_server = True
    must_run = True
    has_steps = False
    flushes_slowly = True
    switches = (BROKER_LOCK,)

    flush: Annotated[str, Field("", "choice", allowed=("async", "sync"))] = "async"
    slave_of: NodeName = ""

    def transaction_parts(self, *, has_half_messages: bool) -> tuple[str, ...]:
        return ("TC", "RM") if has_half_messages else ()


def _check_slaves(nodes: Section, scenario: Scenario) -> None:
    """Check the broker that each slave follows."""
    brokers = scenario.of_kind(BrokerSpec)
    masters = [node.name for node in brokers if not node.slave_of]
    for node in brokers:
        if node.slave_of and node.slave_of not in masters:
            known = ", ".join(masters) or "there is none"
            raise nodes.fail(node.name, f"slave_of {node.slave_of!r} is not a master broker; allowed: {known}")


BROKER = NodeKind(BrokerSpec, (BrokerConfig, MessageStoreConfig), (_check_slaves,))
