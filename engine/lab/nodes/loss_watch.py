"""Loss detection of a lab consumer: when messages reach its listener, and when the work is done.

The two differ if a listener acknowledges first and works later (:mod:`engine.lab.nodes.in_memory_queue`). Both reports
are kept
as by an application that writes them to its disk: they outlive the process.
"""

from __future__ import annotations

from engine.client.callbacks.consume_message_hook import ConsumeMessageContext
from engine.idempotence.loss_detection.judge import TopicVerdict, judge
from engine.idempotence.loss_detection.loss_detector import LossDetector, NotedWhen
from engine.idempotence.loss_detection.reader_report import ReaderReport
from engine.lab.nodes.scenario_node import WorldContext
from engine.lab.scenario.listener_spec import ListenerResult
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt
from engine.runtime.lab.lab_clock import WORLD_BEGIN_MS

#: A number counts as missing only this long after a higher one was stored.
SETTLING_MS = 2_000


class LossWatch:
    """A ``ConsumeMessageHook`` that detects losses.

    :ivar on_arrival: detects losses by what was handed to the listener.
    """

    hook_name = "loss detection"

    def __init__(self, world: WorldContext, node: str) -> None:
        self._world = world
        self._node = node
        self.on_arrival = LossDetector()
        self._done = LossDetector(when=NotedWhen.CONSUMED)
        #: (queue, offset, key) -> what was delivered; a broker that lost the end of its log assigns places again.
        self._handed_out: dict[tuple[MessageQueue, int, str], tuple[MessageExt, MessageQueue]] = {}
        self._looked_at = 0

    def consume_message_before(self, context: ConsumeMessageContext) -> None:
        self.on_arrival.consume_message_before(context)
        self._done.consume_message_before(context)
        queue = context.message_queue
        for message in context.messages:
            self._handed_out[queue, message.queue_offset, "".join(message.keys[:1])] = (message, queue)

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        """Do nothing: a listener may have ended before its work."""

    def done(self) -> ReaderReport:
        """Return the report of what was consumed, from the history."""
        ended = self._world.history.consumes_ended
        for entry in ended[self._looked_at :]:
            if entry.node == self._node and entry.result == ListenerResult.SUCCESS.value:
                # None: a person had it consumed directly, bypassing all hooks.
                queue = MessageQueue(entry.topic, entry.broker, entry.queue_id)
                handed = self._handed_out.get((queue, entry.queue_offset, entry.key))
                if handed is not None:
                    self._done.note(*handed)
        self._looked_at = len(ended)
        return self._done.report


def group_verdict(watches: list[LossWatch], now_us: int, *, on_arrival: bool) -> TopicVerdict | None:
    """Return the verdict for all members of a group together; None if there are no numbers yet."""
    reports = [watch.on_arrival.report if on_arrival else watch.done() for watch in watches]
    verdicts = judge(reports, WORLD_BEGIN_MS + now_us // 1_000 - SETTLING_MS)
    return verdicts[0] if verdicts else None
