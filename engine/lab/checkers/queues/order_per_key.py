"""Checker: an orderly group handles the messages of one business key in the order in which they were sent.

Anomaly: *out of order*. A step of an order reaches a listener although an earlier, acknowledged step of the same order
has not been consumed.

Fault model: as for ``one-consumption-per-queue``, and the number of queues stays what it is. RocketMQ keeps the order
of a *queue*. The order of a key follows only as long as all its messages go to one queue: when queues are added or
taken away, a selector sends the next message of a key to another queue, where it may be consumed before older ones that
wait in the former queue. A scenario that changes the number of queues under traffic shows exactly that.

Claimed of the first delivery of each message; redeliveries follow their queue.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.lab.checkers.watch.checker import Checker, consumption_element
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import ConsumeBegan, ConsumeEnded, SendReturned
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.names import group_of_retry_or_dlq_topic, is_dlq_topic


class _Step(NamedTuple):
    """A message of the traffic. ``before``: key of the previous step in its order; empty for the first."""

    order: str
    before: str


class OrderPerKey(Checker):
    """Check the order of the messages of each key."""

    name = "order-per-key"
    anomaly = Anomaly.OUT_OF_ORDER

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._steps = _steps(self.world.scenario)
        self._orderly = {
            spec.group: spec.model == "broadcasting"
            for spec in self.world.scenario.of_kind(ConsumerSpec)
            if spec.orderly
        }
        #: Keys of messages that their producer knows to be stored.
        self._acknowledged: dict[str, None] = {}
        #: (group, or group and member when broadcasting; key) of messages that were consumed or dropped.
        self._done: dict[tuple[str, str], None] = {}
        #: The same for messages that were begun -> the event in which they were.
        self._begun: dict[tuple[str, str], int] = {}

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        has_orders = any(traffic.orders for spec in scenario.of_kind(ProducerSpec) for traffic in spec.traffic)
        return has_orders and any(spec.orderly for spec in scenario.of_kind(ConsumerSpec))

    def send_returned(self, entry: SendReturned) -> None:
        if entry.status == "ok":
            self._acknowledged[entry.key] = None

    def consume_ended(self, entry: ConsumeEnded) -> None:
        if entry.result == "success" and entry.group in self._orderly:
            self._done[self._who(entry), entry.key] = None

    def message_stored(self, message: LoggedMessage) -> None:
        group = group_of_retry_or_dlq_topic(message.destination)
        if group is not None and is_dlq_topic(message.destination):
            self._done[group, message.first_key] = None

    def consume_began(self, entry: ConsumeBegan) -> None:
        step = self._steps.get(entry.key)
        if step is None or entry.group not in self._orderly:
            return
        who = self._who(entry)
        if (who, entry.key) in self._begun:
            return
        self._begun[who, entry.key] = entry.event
        before = step.before
        while before and before not in self._acknowledged:
            # It is unknown whether the message is stored, so it cannot be expected.
            before = self._steps[before].before
        # A listener call gets the messages of a batch together, in order.
        if before and (who, before) not in self._done and self._begun.get((who, before)) != entry.event:
            not_done = self.text("not_done", entry=entry, order=step.order, before=before)
            self.report(consumption_element(entry), not_done, messages=(before, entry.key))

    def _who(self, entry: ConsumeBegan | ConsumeEnded) -> str:
        return f"{entry.group} {entry.node}" if self._orderly[entry.group] else entry.group


def _steps(scenario: Scenario) -> dict[str, _Step]:
    """Return every message of traffic that has orders, by its key."""
    steps: dict[str, _Step] = {}
    for spec in scenario.of_kind(ProducerSpec):
        for traffic in spec.traffic:
            last: dict[str, str] = {}
            for number in range(traffic.count if traffic.orders else 0):
                key, order = traffic.fill_in(traffic.key, spec.name, number), traffic.business_key(number)
                steps[key] = _Step(order, last.get(order, ""))
                last[order] = key
    return steps
