"""Where consumers keep their progress (RocketMQ: ``OffsetStore``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from engine.protocol.body.message_queue import MessageQueue


class OffsetStore(Protocol):
    """The progress of one group, queue by queue: the offset of the next message to consume."""

    async def load(self) -> None:
        """Read what was kept from before."""
        ...

    def update_offset(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        """Note the progress in memory; with ``increase_only`` a smaller offset than the noted one is ignored."""
        ...

    def offset_in_memory(self, queue: MessageQueue) -> int | None:
        """The noted progress, or None."""
        ...

    async def read_offset_from_store(self, queue: MessageQueue) -> int | None:
        """The kept progress; None when there is none. Notes it in memory.

        Raises :class:`~engine.client.foundation.errors.MQClientError` when it cannot be read.
        """
        ...

    async def persist_all(self, queues: Iterable[MessageQueue]) -> None:
        """Keep the progress of ``queues``, all that this client holds; what is noted of others may be forgotten.

        Failures are logged.
        """
        ...

    async def persist(self, queue: MessageQueue) -> None:
        """Keep the progress of one queue. Failures are logged."""
        ...

    def remove_offset(self, queue: MessageQueue) -> None:
        """Forget the noted progress."""
        ...

    def offsets(self, topic: str | None = None) -> dict[MessageQueue, int]:
        """A copy of the noted progress, of one topic or all."""
        ...
