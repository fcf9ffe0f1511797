"""Checker: a bank never credits what the other has not debited.

Anomalies: *ghost read* (a credit is committed while the debit is not: a reader sees money that was debited nowhere),
*duplicate* (a transfer is credited more than once).

Fault model: any, for transfers by transactional message to an idempotent consumer: a message becomes visible after the
local transaction was committed. A producer that sends first and debits later breaks it without any fault; so does a
bank without a check for duplicates, when a message comes twice, which RocketMQ allows at any time; and so does an
administrator who commits a half message by hand. In two-phase commit a prepared debit counts as made: it cannot fail
any more.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import BankEntry
from engine.lab.nodes.money_flow import MoneyFlow
from engine.lab.scenario.scenario import Scenario


class NoMoneyFromNowhere(Checker):
    """Check that no credit lacks a debit."""

    name = "no-money-from-nowhere"
    anomaly = Anomaly.GHOST_READ

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._flow = MoneyFlow()

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        return scenario.has_banks

    def bank_entered(self, entry: BankEntry) -> None:
        transfer = self._flow.take(entry)
        if transfer is None or transfer.credited <= max(transfer.debited, transfer.reserved):
            return
        element = {"node": entry.node, "message": entry.key}
        if transfer.credited > entry.amount:
            amounts = {"credited": transfer.credited, "debited": transfer.debited}
            again = self.text("again", entry=entry, **amounts)
            self.report(element, again, Anomaly.DUPLICATE)
        else:
            self.report(element, self.text("no_debit", entry=entry))
