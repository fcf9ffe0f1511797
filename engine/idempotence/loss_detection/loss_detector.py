"""An interceptor of a consumer that checks the number of each message::

    detector = LossDetector()
    consumer.register_consume_message_hook(detector)
    ...
    for verdict in judge([detector.report, *reports_of_the_others]): ...

It sees what is handed to the listener, or, with ``NotedWhen.CONSUMED``, what the listener reported as consumed. A
listener that reports success before the work is done deceives it as it deceives the broker: then call
:meth:`LossDetector.note` where the work is done. The subscription must be to all messages (``*``): those that a filter
removes seem lost.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from engine.client.callbacks.consume_message_hook import ConsumeMessageContext
from engine.idempotence.loss_detection.number_book import Sighting
from engine.idempotence.loss_detection.reader_report import ReaderReport
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import PROPERTY_MAX_OFFSET
from engine.protocol.names import is_retry_topic

#: Called with each numbered message and how it was seen.
SightingWatcher = Callable[[MessageExt, Sighting], None]


class NotedWhen(StrEnum):
    """When a message counts as seen."""

    #: When it is handed to the listener.
    DELIVERED = "delivered"
    #: When the listener has reported it as consumed.
    CONSUMED = "consumed"


class LossDetector:
    """Check the numbers of consumed messages, as a ``ConsumeMessageHook``. Costs a few microseconds per message.

    :ivar report: what it has seen, including an earlier process whose report it was given.
    """

    hook_name = "loss detection"

    def __init__(
        self,
        report: ReaderReport | None = None,
        when: NotedWhen = NotedWhen.DELIVERED,
        watcher: SightingWatcher | None = None,
    ) -> None:
        self.report = report or ReaderReport()
        self._when = when
        self._watcher = watcher

    def consume_message_before(self, context: ConsumeMessageContext) -> None:
        """Note the messages before the listener is called, if they count when delivered."""
        if self._when is NotedWhen.DELIVERED:
            self._note_all(context)
        elif not is_retry_topic(context.message_queue.topic):
            queue = _name_of(context.message_queue)
            for message in context.messages:
                self.report.note_place(message.topic, queue, message.queue_offset, _end_of(message))

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        """Note the messages after the listener has returned, if they count when consumed."""
        if self._when is NotedWhen.CONSUMED and context.success:
            self._note_all(context)

    def _note_all(self, context: ConsumeMessageContext) -> None:
        for message in context.messages:
            self.note(message, context.message_queue)

    def note(self, message: MessageExt, queue: MessageQueue) -> None:
        """Note ``message``, which was pulled from ``queue``."""
        sighting = self.report.note(
            message.topic,
            _name_of(queue),
            message.queue_offset,
            message.properties,
            message.store_timestamp,
            end=_end_of(message),
            is_retry=is_retry_topic(queue.topic),
        )
        if sighting is not None and self._watcher is not None:
            self._watcher(message, sighting)


def _name_of(queue: MessageQueue) -> str:
    return f"{queue.broker_name}:{queue.queue_id}"


def _end_of(message: MessageExt) -> int:
    """Return the end of the queue when the message was pulled."""
    end = message.properties.get(PROPERTY_MAX_OFFSET, "")
    return int(end) if end.isascii() and end.isdigit() else 0
