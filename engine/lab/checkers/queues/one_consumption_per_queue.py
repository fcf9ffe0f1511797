"""Checker: an orderly group has at most one listener call in progress per queue.

Anomalies: *duplicate* (a message reaches a listener while another listener call still has it), *out of order* (a
message reaches a listener while a call with other messages of its queue has not ended).

Fault model: the lease model. It must hold whichever clients crash, join or leave, whatever links do and however long a
single task is held up, as long as no process pauses for longer than its lease, no clock jumps and no broker loses its
memory. A lock without a fencing token cannot promise more: a process that sleeps in the middle of a listener call, and
wakes up when the broker's lease (60 s) has run out and another consumer has the queue, continues its call. So does one
whose listener takes longer than that while it cannot reach the broker. And a broker that is started again has an empty
lock table: it grants the queue to the first consumer that asks, while the owner trusts its lock for up to 30 s.

Broadcasting members share nothing: there it is claimed of each member by itself. Concurrent listeners promise nothing
of the kind.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, consumption_element
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.consumer_node import ConsumerNode, ListenerCall
from engine.lab.nodes.history import ConsumeBegan
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.scenario import Scenario


class OneConsumptionPerQueue(Checker):
    """Check that each queue has one consumption at a time."""

    name = "one-consumption-per-queue"
    anomaly = Anomaly.DUPLICATE

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: Calls that another one has overtaken already: (node, since us, topic, broker, queue id).
        self._overtaken: dict[tuple[str, int, str, str, int], None] = {}

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        return any(spec.orderly for spec in scenario.of_kind(ConsumerSpec))

    def consume_began(self, entry: ConsumeBegan) -> None:
        role = self.world.find(ConsumerNode, entry.node)
        if role is None or not role.spec.orderly:
            return
        group = [role] if role.spec.model == "broadcasting" else self.world.consumers()
        under_way = [
            (member.name, call)
            for member in group
            if member.spec.group == entry.group
            for call in member.listener_calls.values()
            if call.topic == entry.topic and call.broker == entry.broker and call.queue_id == entry.queue_id
        ]
        # The call itself is the last one of its own node.
        own = max((index for index, (name, _) in enumerate(under_way) if name == entry.node), default=-1)
        for index, (name, call) in enumerate(under_way):
            overtaken = (name, call.since_us, call.topic, call.broker, call.queue_id)
            if index != own and overtaken not in self._overtaken:
                # Once per call: one that hangs for an hour is one violation, not one per message of that hour.
                self._overtaken[overtaken] = None
                self._report(entry, name, call)

    def _report(self, entry: ConsumeBegan, other: str, call: ListenerCall) -> None:
        is_same = entry.queue_offset in call.offsets
        others = ", ".join(call.keys)
        self.report(
            consumption_element(entry),
            self.text("another", entry=entry, other=other, others=others),
            Anomaly.DUPLICATE if is_same else Anomaly.OUT_OF_ORDER,
            messages=tuple(dict.fromkeys((entry.key, *call.keys))),
        )
