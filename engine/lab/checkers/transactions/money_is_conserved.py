"""Checker, at the end of a run: what one bank debited the other credited, transfer by transfer.

Anomalies: *ghost read* (a transfer was credited and never debited), *duplicate* (credited more than once), *skipped*
(debited, not credited, and nothing on the way that could still bring the money).

What is still in progress is not a violation: a half message that is still to be checked, a message that the group has
not passed, a retry at a delay level, a bank that is working on it. A dead letter is not among these: its money is gone
until an operator acts.

Fault model: any, for transfers by transactional message to an idempotent consumer, but: a message that a power cut was
allowed to take (asynchronous flush), or that got the place of such a one, is left out; and what an administrator
decides by hand, or the broker gives up after ``transactionCheckMax`` checks, is not saved by anybody. A broker that is
down at the end may hold the message.
"""

from __future__ import annotations

from engine.lab.checkers.watch.broker_watch import BrokerWatch
from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import BankEntry
from engine.lab.nodes.money_flow import MoneyFlow
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.names import TRANSACTION_HALF_TOPIC


class MoneyIsConserved(Checker):
    """Check that money is conserved."""

    name = "money-is-conserved"
    anomaly = Anomaly.SKIPPED

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._flow = MoneyFlow()
        #: Keys of messages that a power cut was allowed to take.
        self._lost: dict[str, None] = {}
        specs = self.world.scenario.of_kind(ConsumerSpec)
        self._groups = [watch.groups[spec.group] for spec in specs if spec.bank is not None]

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        return scenario.has_banks

    def bank_entered(self, entry: BankEntry) -> None:
        self._flow.take(entry)

    def message_lost(self, message: LoggedMessage, is_lawful: bool) -> None:
        if is_lawful:
            self._lost[message.first_key] = None

    def run_ended(self) -> None:
        for transfer in self._flow.transfers.values():
            key, debited, credited = transfer.key, transfer.debited, transfer.credited
            if debited == credited or any(role.is_moving(key) for role in self.world.nodes.values()):
                continue
            amounts = {"key": key, "debited": debited, "credited": credited}
            if credited > debited:
                text = self.text("too_much", **amounts, more=credited - debited)
                self.report({"message": key}, text, Anomaly.DUPLICATE if debited else Anomaly.GHOST_READ)
            elif not self._may_be_lost(key) and not self._is_to_come(key):
                text = self.text("too_little", **amounts, less=debited - credited)
                self.report({"message": key}, text)

    def _may_be_lost(self, key: str) -> bool:
        """Return whether a power cut was allowed to take its message, or may have let the group pass it.

        A consumer that had the lost messages continues after their offsets, which the broker assigns again.
        """
        return key in self._lost or any(
            message.queue_offset < broker.lost_until.get((message.topic, message.queue_id), 0)
            for broker in self.watch.brokers.values()
            for message in broker.messages
            if message.first_key == key
        )

    def _is_to_come(self, key: str) -> bool:
        """Return whether the money may still be credited."""
        brokers = self.watch.brokers.values()
        return any(not broker.is_up or self._has(broker, key) for broker in brokers)

    def _has(self, broker: BrokerWatch, key: str) -> bool:
        half_offset = broker.broker.transactional_message_service.half_offset
        for message in broker.messages:
            if message.first_key != key:
                continue
            if message.topic == TRANSACTION_HALF_TOPIC:
                if message.queue_offset >= half_offset:
                    return True
            elif any(group.wants(message) and broker.is_to_come(group.name, message) for group in self._groups):
                return True
        return False
