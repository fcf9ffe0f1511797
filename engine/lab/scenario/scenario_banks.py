"""Parsing of the banks in a scenario, and of the nodes that transfer money between them in a two-phase commit."""

from __future__ import annotations

from engine.bank.paying_bank import TransferVariant
from engine.bank.transfer import AMOUNT_MAX
from engine.lab.scenario.scenario import (
    BankAnswer,
    BankSpec,
    CashMachineSpec,
    NodeSpec,
    Role,
    Scenario,
    TransactionSpec,
    TransfersSpec,
)
from engine.lab.scenario.scenario_names import TIME_MAX_MS
from engine.lab.scenario.scenario_yaml import Section

_NAME_MAX = 40
_TRANSFER_NAME_MAX = 60
_COUNT_MAX = 10_000
#: Default duration of a paying bank's local transaction.
DEFAULT_WORK_MS = 20

#: The roles of :mod:`engine.xa`.
XA_ROLES = (Role.TRANSACTION_COORDINATOR, Role.TRANSACTION_MANAGER, Role.RESOURCE_MANAGER)


def parse_paying_bank(section: Section) -> BankSpec:
    """Parse the bank of a producer. Raises :class:`~engine.lab.scenario.errors.ScenarioError`, as all functions
    here.
    """
    usual = BankSpec("", "", 0)
    way = section.word("way", TransferVariant.TRANSACTION)
    spec = BankSpec(
        name=_name(section, "name"),
        account=_name(section, "account"),
        opening=section.integer("opening", 0, AMOUNT_MAX),
        amount=section.integer("amount", 1, AMOUNT_MAX),
        to=_name(section, "to", "B"),
        way=way,
        duration_ms=section.integer("duration_ms", 0, TIME_MAX_MS, usual.duration_ms),
        check_duration_ms=section.integer("check_duration_ms", 0, TIME_MAX_MS, usual.check_duration_ms),
        answers=section.words_of("answers", list(BankAnswer), BankAnswer.OUTCOME),
    )
    if way is not TransferVariant.TRANSACTION:
        for field in ("check_duration_ms", "answers"):
            if section.has(field):
                raise section.fail(field, f"is not allowed with way {way}: nobody asks the bank")
    return spec


def parse_receiving_bank(section: Section) -> BankSpec:
    """Parse the bank of a consumer."""
    return BankSpec(
        name=_name(section, "name"),
        account=_name(section, "account"),
        opening=section.integer("opening", 0, AMOUNT_MAX, 0),
        idempotent=section.switch("idempotent", default=True),
    )


def _name(section: Section, field: str, default: str | None = None) -> str:
    name = section.text(field, default, max_length=_NAME_MAX)
    if not name or not name.isprintable():
        raise section.fail(field, "must be a name")
    return name


def transaction_of(bank: BankSpec) -> TransactionSpec | None:
    """Return the producer's transaction settings that follow from the bank's way."""
    if bank.way is not TransferVariant.TRANSACTION:
        return None
    return TransactionSpec(duration_ms=bank.duration_ms, check_duration_ms=bank.check_duration_ms)


def check_banks(nodes: Section, scenario: Scenario) -> None:
    """Check the banks as a whole: which node shares a group with a bank, and where the money goes."""
    banks = [node for node in scenario.nodes if node.bank is not None]
    names: dict[str, str] = {}
    for node in banks:
        assert node.bank is not None
        if node.bank.name in names:
            raise nodes.fail(node.name, f"bank.name {node.bank.name!r} is that of {names[node.bank.name]}, too")
        names[node.bank.name] = node.name
        _check_group(nodes, scenario, node)
    accounts = [node.bank.account for node in banks if node.bank is not None and node.role is Role.CONSUMER]
    for node in banks:
        assert node.bank is not None
        if node.role is Role.PRODUCER and accounts and node.bank.to not in accounts:
            raise nodes.fail(
                node.name,
                f"bank.to {node.bank.to!r} is an account of no consumer's bank; there are: {', '.join(accounts)}",
            )


def _check_group(nodes: Section, scenario: Scenario, bank: NodeSpec) -> None:
    for other in scenario.of_role(bank.role) if bank.group else ():
        if other.group == bank.group and other.name != bank.name:
            raise nodes.fail(
                other.name,
                f"group {other.group!r} is that of {bank.name}, whose bank has its database on its own disk: "
                "another member of the group would not know what is in it",
            )


def parse_transfers(section: Section, node: str) -> TransfersSpec:
    """Parse the transfers of a transaction manager."""
    key = section.text("key", f"{node}-{{n}}", max_length=_TRANSFER_NAME_MAX)
    if "{n}" not in key or " " in key or not key.isprintable():
        raise section.fail(
            "key", f"{key!r} is not allowed; it must contain {{n}} and no space: a key names one transfer"
        )
    return TransfersSpec(
        source=section.text("from", max_length=_TRANSFER_NAME_MAX),
        target=section.text("to", max_length=_TRANSFER_NAME_MAX),
        amount=section.integer("amount", 1, AMOUNT_MAX),
        count=section.integer("count", 0, _COUNT_MAX, 1),
        every_ms=section.integer("every_ms", 0, TIME_MAX_MS, 1_000),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 500),
        key=key,
    )


def parse_resource_bank(section: Section) -> BankSpec:
    """Parse the bank of a resource manager; ``duration_ms`` is how long the work of a branch takes."""
    return BankSpec(
        name=section.text("name", max_length=_NAME_MAX),
        account=section.text("account", max_length=_NAME_MAX),
        opening=section.integer("opening", 0, AMOUNT_MAX, 0),
        duration_ms=section.integer("duration_ms", 0, TIME_MAX_MS, DEFAULT_WORK_MS),
    )


def parse_cash_machine(section: Section) -> CashMachineSpec:
    """Parse the look-ups of a cash machine."""
    return CashMachineSpec(
        every_ms=section.integer("every_ms", 1, TIME_MAX_MS, 500),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 500),
        count=section.integer("count", 1, _COUNT_MAX, 20),
    )


def check_xa(nodes: Section, scenario: Scenario) -> None:
    """Check the XA nodes as a whole: one coordinator for all; transfers go from one resource manager to another."""
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
                raise nodes.fail(node.name, f"transfers.{field} {name!r} is not a resource manager; allowed: {allowed}")
        if transfers.source == transfers.target:
            raise nodes.fail(node.name, f"transfers go from {transfers.source} to itself")
