"""Checker: a bank never credits what the other has not debited.

Anomalies: *ghost read* (a credit is committed while the debit is not: whoever looks now sees money that nobody lost),
*duplicate* (a transfer is credited more than once).

Fault model: any, for transfers by transactional message to an idempotent consumer: a message becomes visible after the
local transaction was committed. Whoever sends first and debits then, breaks it without any fault; so does a bank that
credits whatever comes, as soon as a message comes twice, which RocketMQ allows at any time; and so does an
administrator who commits a half message by hand. In two-phase commit a prepared debit counts as made: it cannot fail
any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.lab.checkers.checker import Checker, Texts
from engine.lab.checkers.violation import Anomaly
from engine.lab.money_flow import MoneyFlow

if TYPE_CHECKING:
    from engine.lab.checkers.cluster_watch import ClusterWatch
    from engine.lab.history import BankEntry
    from engine.lab.scenario import Scenario


class NoMoneyFromNowhere(Checker):
    """See the module."""

    name = "no-money-from-nowhere"
    anomaly = Anomaly.GHOST_READ
    title: ClassVar[Texts] = {"en": "No money comes from nowhere", "zh": "钱不会凭空出现"}
    why: ClassVar[Texts] = {
        "en": "What B got may be spent at once. If A's debit then fails, nobody can take it back.",
        "zh": "B 收到的钱马上就可能被花掉。如果此后 A 的扣款失败，谁也收不回来。",
    }

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._flow = MoneyFlow()

    @classmethod
    def applies(cls, scenario: Scenario) -> bool:
        """There is a bank."""
        return scenario.has_banks

    def bank_entered(self, entry: BankEntry) -> None:
        """A bank has committed something."""
        transfer = self._flow.take(entry)
        if transfer is None or transfer.credited <= max(transfer.debited, transfer.reserved):
            return
        is_again = transfer.credited > entry.amount
        en = f"{entry.bank} credited {entry.account} with {entry.amount} for {entry.key}"
        zh = f"{entry.bank} 因 {entry.key} 给 {entry.account} 入账 {entry.amount}"
        if is_again:
            en += f", {transfer.credited} in all; the other bank debited {transfer.debited}."
            zh += f"，累计 {transfer.credited}；而对方银行只扣了 {transfer.debited}。"
        else:
            en += ", and the other bank has committed no debit."
            zh += "，而对方银行还没有提交扣款。"
        self.report(
            {"node": entry.node, "message": entry.key},
            (entry.key,),
            en,
            zh,
            Anomaly.DUPLICATE if is_again else Anomaly.GHOST_READ,
        )
