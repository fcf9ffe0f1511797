"""Checker: a consumer sees only what a producer sent, at the place where the broker has it.

Anomaly: *ghost read*. A listener got a message that was not sent, that its producer knows is certainly not stored, or
that is another one than the broker has at that place.

Fault model: any. After a power cut a consumer may still hold messages that the broker has lost, and the broker may have
given their offsets to others; such places are left out. A send whose outcome its producer does not know (a timeout) may
well be consumed: indefinite is not failed.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import ConsumeBegan, SendReturned


class ConsumedWasSent(Checker):
    """Check that consumed messages were sent."""

    name = "consumed-was-sent"
    anomaly = Anomaly.GHOST_READ

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._sent: dict[str, int] = {}
        self._sends_read = 0
        self._refused: dict[str, int] = {}

    def send_returned(self, entry: SendReturned) -> None:
        if entry.status == "refused":
            self._refused[entry.key] = self._refused.get(entry.key, 0) + 1

    def consume_began(self, entry: ConsumeBegan) -> None:
        sends = self.world.history.sends_invoked
        for send in sends[self._sends_read :]:
            self._sent[send.key] = self._sent.get(send.key, 0) + 1
        self._sends_read = len(sends)
        times = self._sent.get(entry.key, 0)
        if times == 0:
            self.report_read(entry, self.text("nobody"))
        elif times == self._refused.get(entry.key):
            self.report_read(entry, self.text("refused"))
        else:
            self._compare_with_log(entry)

    def _compare_with_log(self, entry: ConsumeBegan) -> None:
        broker = self.watch.brokers.get(entry.broker)
        if broker is None or not broker.is_up:
            return
        if entry.queue_offset < broker.lost_until.get((entry.topic, entry.queue_id), 0):
            return
        message = broker.by_place.get((entry.topic, entry.queue_id, entry.queue_offset))
        if message is None:
            self.report_read(entry, self.text("not_there"))
        elif message.first_key != entry.key:
            self.report_read(entry, self.text("another", message=message))
