"""Checker: an orderly group begins with a message only after it has finished the one before it in the queue.

Anomaly: *out of order*. A message reaches a listener although an earlier one of its queue was never consumed
successfully and is no dead letter: an effect of the later one may come before that of the earlier one.

Fault model: as for ``one-consumption-per-queue``. The messages of one listener call are handed over together, in order.
What is *not* claimed is that nothing comes twice: when a queue changes hands, messages whose offset was not stored are
delivered again, from the stored offset on, in order. That is what "at least once" means; 1, 2, 3, 2, 3, 4 is in order.
After a power cut took the tail of a queue its offsets are given to other messages: those are left out.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, consumption_element, has_orderly_group
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.group_watch import GroupWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import ConsumeBegan
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.names import is_retry_topic


class OrderPerQueue(Checker):
    """Check the order of the messages of each queue."""

    name = "order-per-queue"
    anomaly = Anomaly.OUT_OF_ORDER
    applies = staticmethod(has_orderly_group)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._orderly = {spec.group: None for spec in self.world.scenario.of_kind(ConsumerSpec) if spec.orderly}
        #: (group, broker, topic, queue id) -> where the group began.
        self._first_offsets: dict[tuple[str, str, str, int], int] = {}
        #: The last message that a listener received.
        self._last_begun: ConsumeBegan | None = None

    def consume_began(self, entry: ConsumeBegan) -> None:
        group = self.watch.groups.get(entry.group)
        if entry.group not in self._orderly or group is None or not group.is_consistent or is_retry_topic(entry.topic):
            return
        last_begun, self._last_begun = self._last_begun, entry
        place = (entry.group, entry.broker, entry.topic, entry.queue_id)
        first = self._first_offsets.setdefault(place, 0 if group.begins_at_first else entry.queue_offset)
        before = self._message_before(group, entry, first)
        if before is None or group.is_settled(before):
            return
        if last_begun is not None and _is_in_one_call(last_begun, entry, before):
            return
        self.report(
            consumption_element(entry),
            self.text("not_done", entry=entry, before=before),
            messages=(before.first_key, entry.key),
        )

    def _message_before(self, group: GroupWatch, entry: ConsumeBegan, first: int) -> LoggedMessage | None:
        """Return the nearest message before ``entry`` that the group wants, from ``first`` on. By induction it stands
        for all.
        """
        broker = self.watch.brokers.get(entry.broker)
        if broker is None:
            return None
        first = max(first, broker.lost_until.get((entry.topic, entry.queue_id), 0))
        for offset in range(entry.queue_offset - 1, first - 1, -1):
            message = broker.by_place.get((entry.topic, entry.queue_id, offset))
            if message is not None and group.wants(message):
                return message
        return None


def _is_in_one_call(earlier: ConsumeBegan, entry: ConsumeBegan, before: LoggedMessage) -> bool:
    """Return whether ``earlier`` is ``before`` and the same listener call got both."""
    is_one_call = (earlier.event, earlier.node) == (entry.event, entry.node)
    place = earlier.broker, earlier.topic, earlier.queue_id, earlier.queue_offset
    return is_one_call and place == (before.broker, *before.place)
