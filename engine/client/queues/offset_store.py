"""The store of consumers' progress (RocketMQ: ``OffsetStore``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from engine.protocol.body.message_queue import MessageQueue


class OffsetStore(Protocol):
    """The progress of one group, queue by queue: the offset of the next message to consume."""

    async def load(self) -> None:
        """Read the stored progress."""
        ...

    def update_offset(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        """Set the progress in memory; with ``increase_only`` a smaller offset than the current one is ignored."""
        ...

    def offset_in_memory(self, queue: MessageQueue) -> int | None:
        """Return the progress in memory, or None."""
        ...

    async def read_offset_from_store(self, queue: MessageQueue) -> int | None:
        """Return the stored progress, or None, and set it in memory.

        Raises :class:`~engine.client.foundation.errors.MQClientError` when it cannot be read.
        """
        ...

    async def persist_all(self, queues: Iterable[MessageQueue]) -> None:
        """Store the progress of ``queues``, all that this client owns; that of others may be removed from memory.

        Failures are logged.
        """
        ...

    async def persist(self, queue: MessageQueue) -> None:
        """Store the progress of one queue. Failures are logged."""
        ...

    def remove_offset(self, queue: MessageQueue) -> None:
        """Remove the progress from memory."""
        ...

    def offsets(self, topic: str | None = None) -> dict[MessageQueue, int]:
        """Return a copy of the progress in memory, of one topic or all."""
        ...
