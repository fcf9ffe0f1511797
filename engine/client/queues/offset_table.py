"""The offsets of one group in memory, which both offset stores share (``ControllableOffset``, ``offsetTable``)."""

from __future__ import annotations

from engine.protocol.body.message_queue import MessageQueue


class ConsumerOffsetTable:
    """A table: queue -> offset of the next message to consume."""

    def __init__(self) -> None:
        self._offsets: dict[MessageQueue, int] = {}

    def update_offset(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        known = self._offsets.get(queue)
        if known is None or not increase_only or offset > known:
            self._offsets[queue] = offset

    def offset_in_memory(self, queue: MessageQueue) -> int | None:
        return self._offsets.get(queue)

    def remove_offset(self, queue: MessageQueue) -> None:
        self._offsets.pop(queue, None)

    def offsets(self, topic: str | None = None) -> dict[MessageQueue, int]:
        return {queue: offset for queue, offset in self._offsets.items() if topic is None or queue.topic == topic}
