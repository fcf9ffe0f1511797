"""A bank that pays and one that receives, with single lines replaced."""

from __future__ import annotations

from engine.bank.accounts import Accounts
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Scenario
from tests.support.lab.lab_scenarios import small

_BROKER = (
    'messageDelayLevel: "1s 1s 1s 1s"',
    'messageDelayLevel: "1s 1s 1s 1s", transactionTimeOut: 3000, transactionCheckInterval: 2000',
)
_TRAFFIC = (
    'count: 20, every_ms: 100, start_ms: 500, key: "k-{n}", tag: "a|b", body: "body {n}"',
    'count: 3, every_ms: 500, start_ms: 1000, key: "t-{n}"',
)


def bank_scenario(
    way: str = "transaction", *replacements: tuple[str, str], paying: str = "", receiving: str = ""
) -> Scenario:
    """Three transfers of 100 from A, which has 1,000, to B. ``paying``, ``receiving``: further fields of the banks."""
    pays = f"{{name: ICBC, account: A, opening: 1000, amount: 100, way: {way}{paying and f', {paying}'}}}"
    receives = f"{{name: CCB, account: B{receiving and f', {receiving}'}}}"
    banks = (
        ("    group: senders\n", f"    group: senders\n    bank: {pays}\n"),
        ("    group: g\n", f"    group: g\n    bank: {receives}\n"),
    )
    return small(_BROKER, _TRAFFIC, *banks, *replacements)


def bank_run(way: str = "transaction", *replacements: tuple[str, str], paying: str = "", receiving: str = "") -> LabRun:
    """The same, not yet stepped."""
    return LabRun(bank_scenario(way, *replacements, paying=paying, receiving=receiving))


def balances(run: LabRun) -> tuple[int, int]:
    """Committed, of A and B."""
    (producer,), (consumer,) = run.world.producers(), run.world.consumers()
    assert producer.node_bank is not None
    assert consumer.node_bank is not None
    found = []
    for node_bank in (producer.node_bank, consumer.node_bank):
        database = node_bank.at_rest()
        assert database is not None
        found.append(Accounts(database).committed_balance(node_bank.spec.account))
        database.close()
    source, target = found
    assert source is not None
    assert target is not None
    return source, target


def broken(run: LabRun) -> dict[str, list[str]]:
    """Checker -> the messages that it complains of."""
    found: dict[str, list[str]] = {}
    for violation in run.violations:
        found.setdefault(violation.checker, []).extend(violation.messages)
    return found
