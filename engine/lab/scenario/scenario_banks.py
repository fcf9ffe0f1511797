"""The banks in the text of a scenario: the field ``bank`` of a producer or a consumer."""

from __future__ import annotations

from engine.bank.paying_bank import Way
from engine.bank.transfer import AMOUNT_MAX
from engine.lab.scenario.scenario import BankAnswer, BankSpec, NodeSpec, Role, Scenario, TransactionSpec
from engine.lab.scenario.scenario_yaml import Section

_NAME_MAX = 40
_TIME_MAX_MS = 24 * 3_600_000


def parse_paying_bank(section: Section | None) -> BankSpec | None:
    """The bank of a producer. Raises :class:`~engine.lab.scenario.errors.ScenarioError`, as all here."""
    if section is None:
        return None
    usual = BankSpec("", "", 0)
    way = Way(section.choice("way", list(Way), Way.TRANSACTION))
    spec = BankSpec(
        name=_name(section, "name"),
        account=_name(section, "account"),
        opening=section.integer("opening", 0, AMOUNT_MAX),
        amount=section.integer("amount", 1, AMOUNT_MAX),
        to=_name(section, "to", "B"),
        way=way,
        duration_ms=section.integer("duration_ms", 0, _TIME_MAX_MS, usual.duration_ms),
        check_duration_ms=section.integer("check_duration_ms", 0, _TIME_MAX_MS, usual.check_duration_ms),
        answers=_answers(section),
    )
    if way is not Way.TRANSACTION:
        for field in ("check_duration_ms", "answers"):
            if section.has(field):
                raise section.fail(field, f"is not allowed with way {way}: nobody asks the bank")
    section.finish()
    return spec


def _answers(section: Section) -> tuple[BankAnswer, ...]:
    text = section.text("answers", BankAnswer.OUTCOME, max_length=200)
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in list(BankAnswer):
            raise section.fail("answers", f"{word!r} is not allowed; allowed: {', '.join(BankAnswer)}")
    return tuple(BankAnswer(word) for word in words)


def parse_receiving_bank(section: Section | None) -> BankSpec | None:
    """The bank of a consumer."""
    if section is None:
        return None
    spec = BankSpec(
        name=_name(section, "name"),
        account=_name(section, "account"),
        opening=section.integer("opening", 0, AMOUNT_MAX, 0),
        idempotent=section.choice("idempotent", ["true", "false"], "true") == "true",
    )
    section.finish()
    return spec


def _name(section: Section, field: str, default: str | None = None) -> str:
    name = section.text(field, default, max_length=_NAME_MAX)
    if not name or not name.isprintable():
        raise section.fail(field, "must be a name")
    return name


def transaction_of(bank: BankSpec) -> TransactionSpec | None:
    """What the bank's way means for the producer."""
    if bank.way is not Way.TRANSACTION:
        return None
    return TransactionSpec(duration_ms=bank.duration_ms, check_duration_ms=bank.check_duration_ms)


def check_banks(nodes: Section, scenario: Scenario) -> None:
    """What only the whole tells: who shares a group with a bank, and where the money goes."""
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
