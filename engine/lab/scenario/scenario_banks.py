"""Parsing of the banks in a scenario, and of the transfers between them."""

from __future__ import annotations

from engine.bank.paying_bank import TransferVariant
from engine.bank.transfer import AMOUNT_MAX
from engine.lab.scenario.kinds.bank_spec import (
    BankAnswer,
    CashMachineSpec,
    PayingBankSpec,
    ReceivingBankSpec,
    ResourceBankSpec,
    TransfersSpec,
)
from engine.lab.scenario.kinds.node_spec import BankNodeSpec, MemberSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_names import TIME_MAX_MS
from engine.lab.scenario.scenario_yaml import Section

_NAME_MAX = 40
_TRANSFER_NAME_MAX = 60
_COUNT_MAX = 10_000


def parse_paying_bank(section: Section) -> PayingBankSpec:
    """Parse the bank of a producer. Raises :class:`~engine.lab.scenario.errors.ScenarioError`, as all functions
    here.
    """
    usual = PayingBankSpec("", "", 0)
    way = section.word("way", TransferVariant.TRANSACTION)
    spec = PayingBankSpec(
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


def parse_receiving_bank(section: Section) -> ReceivingBankSpec:
    """Parse the bank of a consumer."""
    return ReceivingBankSpec(
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


def check_banks(nodes: Section, scenario: Scenario) -> None:
    """Check the banks as a whole: which node shares a group with a bank, and where the money goes."""
    banks = [(node, node.bank) for node in scenario.of_kind(BankNodeSpec) if node.bank is not None]
    names: dict[str, str] = {}
    for node, bank in banks:
        if bank.name in names:
            raise nodes.fail(node.name, f"bank.name {bank.name!r} is that of {names[bank.name]}, too")
        names[bank.name] = node.name
        if isinstance(node, MemberSpec):
            _check_group(nodes, scenario, node)
    accounts = [bank.account for _, bank in banks if isinstance(bank, ReceivingBankSpec)]
    for node, bank in banks:
        if isinstance(bank, PayingBankSpec) and accounts and bank.to not in accounts:
            raise nodes.fail(
                node.name,
                f"bank.to {bank.to!r} is an account of no consumer's bank; there are: {', '.join(accounts)}",
            )


def _check_group(nodes: Section, scenario: Scenario, bank: MemberSpec) -> None:
    for other in scenario.of_kind(type(bank)):
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


def parse_resource_bank(section: Section) -> ResourceBankSpec:
    """Parse the bank of a resource manager."""
    usual = ResourceBankSpec("", "", 0)
    return ResourceBankSpec(
        name=section.text("name", max_length=_NAME_MAX),
        account=section.text("account", max_length=_NAME_MAX),
        opening=section.integer("opening", 0, AMOUNT_MAX, 0),
        duration_ms=section.integer("duration_ms", 0, TIME_MAX_MS, usual.duration_ms),
    )


def parse_cash_machine(section: Section) -> CashMachineSpec:
    """Parse the look-ups of a cash machine."""
    return CashMachineSpec(
        every_ms=section.integer("every_ms", 1, TIME_MAX_MS, 500),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 500),
        count=section.integer("count", 1, _COUNT_MAX, 20),
    )
