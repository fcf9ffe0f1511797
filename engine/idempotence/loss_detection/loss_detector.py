"""The interceptor of a consumer: looks at the number of each message as it passes::

    detector = LossDetector()
    consumer.register_consume_message_hook(detector)
    ...
    for verdict in judge([detector.report, *reports_of_the_others]): ...

It sees what is handed to the listener, or, ``NotedWhen.CONSUMED``, what the listener said that it had consumed. A
listener that says so before the work is done deceives it as it deceives the broker: then call :meth:`LossDetector.note`
where the work is done. The subscription must be to all messages (``*``): those that a filter keeps back seem lost.
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

#: Is told what each numbered message was.
SightingWatcher = Callable[[MessageExt, Sighting], None]


class NotedWhen(StrEnum):
    """What counts."""

    #: Handed to the listener.
    DELIVERED = "delivered"
    #: And the listener said that it was consumed.
    CONSUMED = "consumed"


class LossDetector:
    """A ``ConsumeMessageHook``. Costs a few microseconds per message.

    :ivar report: what it has met; of an earlier life too, when it was given that report.
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
        """The listener is about to be called."""
        if self._when is NotedWhen.DELIVERED:
            self._note_all(context)
        elif not is_retry_topic(context.message_queue.topic):
            queue = _name_of(context.message_queue)
            for message in context.messages:
                self.report.note_place(message.topic, queue, message.queue_offset, _end_of(message))

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        """The listener has ended."""
        if self._when is NotedWhen.CONSUMED and context.success:
            self._note_all(context)

    def _note_all(self, context: ConsumeMessageContext) -> None:
        for message in context.messages:
            self.note(message, context.message_queue)

    def note(self, message: MessageExt, queue: MessageQueue) -> None:
        """``message``, which was pulled from ``queue``."""
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
    """Where the queue ended when the message was pulled."""
    end = message.properties.get(PROPERTY_MAX_OFFSET, "")
    return int(end) if end.isascii() and end.isdigit() else 0
