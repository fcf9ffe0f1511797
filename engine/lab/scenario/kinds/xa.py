"""Nodes of a two-phase commit in a scenario, see :mod:`engine.xa`: one coordinator, managers and banks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.lab.scenario.kinds.bank_spec import CashMachineSpec, ResourceBankSpec, TransfersSpec
from engine.lab.scenario.kinds.disk import parse_disk
from engine.lab.scenario.kinds.node_kind import NodeKind
from engine.lab.scenario.kinds.node_spec import BankNodeSpec, DiskNodeSpec, NodeSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_banks import (
    check_banks,
    parse_cash_machine,
    parse_resource_bank,
    parse_transfers,
)
from engine.lab.scenario.scenario_yaml import Section
from engine.xa.config import CoordinatorConfig, ManagerConfig, ResourceManagerConfig


@dataclass(frozen=True, kw_only=True)
class CoordinatorSpec(DiskNodeSpec):
    """A transaction coordinator."""

    role: ClassVar[str] = "transaction_coordinator"

    @property
    def has_disk(self) -> bool:
        """Return False: its log only has a speed; commands for disks are about stores and banks."""
        return False


@dataclass(frozen=True, kw_only=True)
class ManagerSpec(NodeSpec):
    """A transaction manager. ``transfers`` None: it makes none."""

    role: ClassVar[str] = "transaction_manager"

    transfers: TransfersSpec | None = None


@dataclass(frozen=True, kw_only=True)
class ResourceManagerSpec(BankNodeSpec):
    """A resource manager: a bank. ``cash_machine`` None: it has none."""

    role: ClassVar[str] = "resource_manager"

    bank: ResourceBankSpec
    cash_machine: CashMachineSpec | None = None


def _coordinator(name: str, section: Section) -> CoordinatorSpec:
    return CoordinatorSpec(name, disk=parse_disk(section))


def _manager(name: str, section: Section) -> ManagerSpec:
    return ManagerSpec(name, transfers=section.part("transfers", lambda fields: parse_transfers(fields, name)))


def _resource_manager(name: str, section: Section) -> ResourceManagerSpec:
    bank = section.part("bank", parse_resource_bank)
    if bank is None:
        raise section.fail("bank", "is missing: a resource manager has a bank")
    return ResourceManagerSpec(name, bank=bank, cash_machine=section.part("cash_machine", parse_cash_machine))


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
        for field, name in (("from", transfers.source), ("to", transfers.target)):
            if name not in banks:
                allowed = ", ".join(banks) or "there is none"
                raise nodes.fail(
                    manager.name, f"transfers.{field} {name!r} is not a resource manager; allowed: {allowed}"
                )
        if transfers.source == transfers.target:
            raise nodes.fail(manager.name, f"transfers go from {transfers.source} to itself")


COORDINATOR = NodeKind(CoordinatorSpec, _coordinator, ("disk",), (CoordinatorConfig,), (_check_xa,))
MANAGER = NodeKind(ManagerSpec, _manager, ("transfers",), (ManagerConfig,), (_check_xa,))
RESOURCE_MANAGER = NodeKind(
    ResourceManagerSpec,
    _resource_manager,
    ("bank", "cash_machine"),
    (ResourceManagerConfig,),
    (check_banks, _check_xa),
)
