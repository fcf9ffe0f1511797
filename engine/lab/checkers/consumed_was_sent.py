"""Checker: a consumer sees nothing but what a producer sent, where the broker has it.

Anomaly: *ghost read*. A listener got a message that nobody sent, that its producer was told is certainly not stored, or
that is another one than the broker has at that place.

Fault model: any. After a power cut a consumer may still hold messages that the broker has lost, and the broker may have
given their offsets to others; such places are left out. A send whose outcome its producer does not know (a timeout) may
well be consumed: indefinite is not failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.lab.checkers.checker import Checker, Texts
from engine.lab.checkers.violation import Anomaly

if TYPE_CHECKING:
    from engine.lab.checkers.cluster_watch import ClusterWatch
    from engine.lab.history import ConsumeBegan, SendReturned


class ConsumedWasSent(Checker):
    """See the module."""

    name = "consumed-was-sent"
    anomaly = Anomaly.GHOST_READ
    title: ClassVar[Texts] = {"en": "What is consumed was sent", "zh": "消费到的都是发送过的"}
    why: ClassVar[Texts] = {
        "en": "A message that nobody sent, or that was refused, must never reach a listener.",
        "zh": "没有人发送过的、或已被拒绝的消息，绝不能到达监听器。",
    }

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._sent: dict[str, int] = {}
        self._sends_read = 0
        self._refused: dict[str, int] = {}

    def send_returned(self, entry: SendReturned) -> None:
        """A broker may have said no."""
        if entry.status == "refused":
            self._refused[entry.key] = self._refused.get(entry.key, 0) + 1

    def consume_began(self, entry: ConsumeBegan) -> None:
        """A listener gets a message."""
        sends = self.world.history.sends_invoked
        for send in sends[self._sends_read :]:
            self._sent[send.key] = self._sent.get(send.key, 0) + 1
        self._sends_read = len(sends)
        times = self._sent.get(entry.key, 0)
        if times == 0:
            self.report_read(entry, "which nobody sent", "，而没有人发送过它")
        elif times == self._refused.get(entry.key):
            self.report_read(
                entry, "although its producer was told that it was refused", "，但其生产者被告知它已被拒绝"
            )
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
            self.report_read(entry, "which the broker does not have there", "，而代理在该处没有消息")
        elif message.first_key != entry.key:
            self.report_read(
                entry, f"where the broker has {message.first_key}", f"，而代理在该处存的是 {message.first_key}"
            )
