"""Checks of all banks of a scenario together."""

from __future__ import annotations

from engine.lab.scenario.kinds.bank_spec import PayingBankSpec, ReceivingBankSpec
from engine.lab.scenario.kinds.node_spec import BankNodeSpec, MemberSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_yaml import Section


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
