"""Checker, at the end of a run: every half message was committed, rolled back or given up, or is still to come.

Anomalies: *skipped* (the check service has passed an undecided half message without storing it again or giving it up:
no check-back will ever come), *stuck* (nothing has been wrong for longer than all checks together may take, and the
half message still waits).

A half message is decided when an op message names it, or another copy of it: a check-back stores it again, and a late
answer may mean the old copy. It is given up when it is in TRANS_CHECK_MAX_TIME_TOPIC.

Fault model: any. A message of which a power cut was allowed to take a copy is left out: that copy was the one to be
checked. "Stuck" is claimed only when the cluster has been calm for transactionTimeOut and one interval per check, and
two more; not of messages that a clock which was set back makes seem to come from the future. RocketMQ promises no more:
which way a message is decided, and how often a committed one is delivered, is not said here.
"""

from __future__ import annotations

from engine.broker.transactions.half_message import HALF_QUEUE_ID, decided_offset
from engine.lab.checkers.watch.broker_watch import BrokerWatch
from engine.lab.checkers.watch.checker import Checker, has_transactions
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.names import TRANSACTION_CHECK_MAX_TIME_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC

#: Rounds besides those that send check-backs: the one that found the message too young, and the one that gives it up.
_ROUNDS_MORE = 2
#: Time for the rounds themselves, and for frames in flight.
_SLACK_MS = 5_000


class HalfMessagesAreDecided(Checker):
    """Check that half messages are decided."""

    name = "half-messages-are-decided"
    anomaly = Anomaly.SKIPPED
    applies = staticmethod(has_transactions)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: (broker, unique key) of half messages that are settled, in whatever way.
        self._done: dict[tuple[str, str], None] = {}
        self._lost: dict[tuple[str, str], None] = {}

    def message_stored(self, message: LoggedMessage) -> None:
        if message.topic == TRANSACTION_CHECK_MAX_TIME_TOPIC:
            self._done[message.broker, message.unique_key] = None
        elif message.topic == TRANSACTION_OP_HALF_TOPIC:
            broker = self.watch.brokers[message.broker]
            op = broker.broker.store.message_at(message.commit_log_offset)
            offset = decided_offset(op) if op is not None else None
            if offset is not None:
                half = broker.by_place.get((TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID, offset))
                if half is not None:
                    self._done[half.broker, half.unique_key] = None

    def message_lost(self, message: LoggedMessage, is_lawful: bool) -> None:
        if message.topic == TRANSACTION_HALF_TOPIC:
            self._lost[message.broker, message.unique_key] = None

    def run_ended(self) -> None:
        for broker in self.watch.brokers.values():
            if broker.is_up:
                self._check(broker)

    def _check(self, broker: BrokerWatch) -> None:
        newest: dict[str, LoggedMessage] = {}
        for message in broker.messages:
            if message.topic == TRANSACTION_HALF_TOPIC:
                newest[message.unique_key] = message
        service = broker.broker.transactional_message_service
        lost_until = broker.lost_until.get((TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID), 0)
        for key, half in newest.items():
            if (broker.name, key) in self._done or (broker.name, key) in self._lost:
                continue
            if half.queue_offset < service.half_offset:
                if half.queue_offset >= lost_until:
                    skipped = self.text("skipped", half=half, half_offset=service.half_offset)
                    self.report(half.element, skipped)
            elif self._should_be_done(broker, half):
                self.report(half.element, self.text("stuck", half=half), Anomaly.STUCK)

    def _should_be_done(self, broker: BrokerWatch, half: LoggedMessage) -> bool:
        watch, config = self.watch, broker.broker.config
        if half.store_timestamp >= broker.broker.runtime.clock.now_ms():
            return False
        rounds = config.transaction_check_max + _ROUNDS_MORE
        needed_ms = config.transaction_time_out_ms + rounds * config.transaction_check_interval_ms + _SLACK_MS
        # There is no better estimate of when the transaction began: the copy is as young as the last check-back.
        sent_us = [entry.time_us for entry in self.world.history.sends_invoked if entry.key == half.first_key]
        begun_us = max([watch.calm_since_us, *sent_us])
        return watch.now_us - begun_us >= needed_ms * 1_000
