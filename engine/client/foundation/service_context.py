"""``async with DefaultMQProducer(...) as producer``: start at the beginning, shut down at the end, whatever happens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class ServiceContext(ABC):
    """What producers and consumers have in common for their users. RocketMQ's are started and shut down by hand."""

    @abstractmethod
    async def start(self) -> None:
        """Begin."""

    @abstractmethod
    async def shutdown(self) -> None:
        """End; a second call does nothing."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.shutdown()
