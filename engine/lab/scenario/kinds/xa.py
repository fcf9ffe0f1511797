"""Nodes of a two-phase commit in a scenario, see :mod:`engine.xa`: one coordinator, managers and banks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from engine.lab.scenario.kinds.bank_checks import check_banks
from engine.lab.scenario.kinds.bank_spec import CashMachineSpec, ResourceBankSpec, TransfersSpec, parse_transfers
from engine.lab.scenario.kinds.node_kind import NodeKind
from engine.lab.scenario.kinds.node_spec import TWO_PHASE, BankNodeSpec, DiskNodeSpec, NodeSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_yaml import Section
from engine.xa.config import CoordinatorConfig, ManagerConfig, ResourceManagerConfig


@dataclass(frozen=True, kw_only=True)
class CoordinatorSpec(DiskNodeSpec):
    """A transaction coordinator."""

    role: ClassVar[str] = "transaction_coordinator"
    is_server = True
    crash_steps: ClassVar = {
        TWO_PHASE: ("asks for a vote", "orders the commit of a branch"),
    }

    @property
    def has_disk(self) -> bool:
        """Return False: its log only has a speed; commands for disks are about stores and banks."""
        return False

    def transaction_parts(self, *, has_half_messages: bool) -> tuple[str, ...]:
        return ("TC",)


@dataclass(frozen=True, kw_only=True)
class ManagerSpec(NodeSpec):
    """A transaction manager. ``transfers`` None: it makes none."""

    role: ClassVar[str] = "transaction_manager"
    crash_steps: ClassVar = {
        TWO_PHASE: (
            "begins the global transaction",
            "enlists a resource manager",
            "asks for the votes",
            "orders the commit",
        ),
    }

    transfers: TransfersSpec | None = None

    def transaction_parts(self, *, has_half_messages: bool) -> tuple[str, ...]:
        return ("TM",)


@dataclass(frozen=True, kw_only=True)
class ResourceManagerSpec(BankNodeSpec):
    """A resource manager: a bank. ``cash_machine`` None: it has none."""

    role: ClassVar[str] = "resource_manager"
    is_server = True

    # Without this, its default would be the one of the base class.
    bank: ResourceBankSpec = field()
    cash_machine: CashMachineSpec | None = None

    def transaction_parts(self, *, has_half_messages: bool) -> tuple[str, ...]:
        return ("RM",)


def _manager(name: str, section: Section) -> ManagerSpec:
    return ManagerSpec(name, transfers=section.part("transfers", lambda fields: parse_transfers(fields, name)))


def _check_xa(nodes: Section, scenario: Scenario) -> None:
    """Check that there is one coordinator for all, and that transfers go from one resource manager to another."""
    coordinators, managers = scenario.of_kind(CoordinatorSpec), scenario.of_kind(ManagerSpec)
    resource_managers = scenario.of_kind(ResourceManagerSpec)
    for node in (*coordinators, *managers, *resource_managers):
        if len(coordinators) != 1:
            raise nodes.fail(
                node.name, f"needs exactly one node with role {CoordinatorSpec.role}; there are {len(coordinators)}"
            )
    banks = [node.name for node in resource_managers]
    for manager in managers:
        transfers = manager.transfers
        if transfers is None:
            continue
        for end, name in (("from", transfers.source), ("to", transfers.target)):
            if name not in banks:
                allowed = ", ".join(banks) or "there is none"
                raise nodes.fail(
                    manager.name, f"transfers.{end} {name!r} is not a resource manager; allowed: {allowed}"
                )
        if transfers.source == transfers.target:
            raise nodes.fail(manager.name, f"transfers go from {transfers.source} to itself")


COORDINATOR = NodeKind(CoordinatorSpec, (CoordinatorConfig,), (_check_xa,))
MANAGER = NodeKind(ManagerSpec, (ManagerConfig,), (_check_xa,), _manager)
RESOURCE_MANAGER = NodeKind(ResourceManagerSpec, (ResourceManagerConfig,), (check_banks, _check_xa))
