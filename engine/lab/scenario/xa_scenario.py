"""The nodes of a two-phase commit in the text of a scenario."""

from __future__ import annotations

from engine.bank.transfer import AMOUNT_MAX
from engine.lab.scenario.scenario import BankSpec, Role, Scenario
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.xa_spec import CashMachineSpec, TransfersSpec

_TIME_MAX_MS = 24 * 3_600_000
_COUNT_MAX = 10_000
#: As long as the local transaction of a paying bank takes, unless said otherwise.
DEFAULT_WORK_MS = 20
_NAME_MAX = 60

#: The roles of :mod:`engine.xa`.
XA_ROLES = (Role.TRANSACTION_COORDINATOR, Role.TRANSACTION_MANAGER, Role.RESOURCE_MANAGER)


def parse_transfers(section: Section | None, node: str) -> TransfersSpec | None:
    """What a transaction manager does. Raises :class:`~engine.lab.scenario.errors.ScenarioError`, as all here."""
    if section is None:
        return None
    key = section.text("key", f"{node}-{{n}}", max_length=_NAME_MAX)
    if "{n}" not in key or " " in key or not key.isprintable():
        raise section.fail(
            "key", f"{key!r} is not allowed; it must contain {{n}} and no space: a key names one transfer"
        )
    transfers = TransfersSpec(
        source=section.text("from", max_length=_NAME_MAX),
        target=section.text("to", max_length=_NAME_MAX),
        amount=section.integer("amount", 1, AMOUNT_MAX),
        count=section.integer("count", 0, _COUNT_MAX, 1),
        every_ms=section.integer("every_ms", 0, _TIME_MAX_MS, 1_000),
        start_ms=section.integer("start_ms", 0, _TIME_MAX_MS, 500),
        key=key,
    )
    section.finish()
    return transfers


def parse_resource_bank(section: Section) -> BankSpec:
    """The bank of a resource manager; ``duration_ms`` is how long the work of a branch takes."""
    fields = section.section("bank")
    if fields is None:
        raise section.fail("bank", "is missing: a resource manager has a bank")
    bank = BankSpec(
        name=fields.text("name", max_length=40),
        account=fields.text("account", max_length=40),
        opening=fields.integer("opening", 0, AMOUNT_MAX, 0),
        duration_ms=fields.integer("duration_ms", 0, _TIME_MAX_MS, DEFAULT_WORK_MS),
    )
    fields.finish()
    return bank


def parse_cash_machine(section: Section | None) -> CashMachineSpec | None:
    """Who looks up the balance."""
    if section is None:
        return None
    machine = CashMachineSpec(
        every_ms=section.integer("every_ms", 1, _TIME_MAX_MS, 500),
        start_ms=section.integer("start_ms", 0, _TIME_MAX_MS, 500),
        count=section.integer("count", 1, _COUNT_MAX, 20),
    )
    section.finish()
    return machine


def check_xa(nodes: Section, scenario: Scenario) -> None:
    """What only the whole tells: one coordinator for all; transfers go from one resource manager to another."""
    coordinators = scenario.of_role(Role.TRANSACTION_COORDINATOR)
    banks = [node.name for node in scenario.of_role(Role.RESOURCE_MANAGER)]
    for node in scenario.nodes:
        if node.role in XA_ROLES and len(coordinators) != 1:
            raise nodes.fail(
                node.name,
                f"needs exactly one node with role {Role.TRANSACTION_COORDINATOR}; there are {len(coordinators)}",
            )
        transfers = node.transfers
        if transfers is None:
            continue
        for field, name in (("from", transfers.source), ("to", transfers.target)):
            if name not in banks:
                allowed = ", ".join(banks) or "there is none"
                raise nodes.fail(node.name, f"transfers.{field} {name!r} is no resource manager; allowed: {allowed}")
        if transfers.source == transfers.target:
            raise nodes.fail(node.name, f"transfers go from {transfers.source} to itself")
