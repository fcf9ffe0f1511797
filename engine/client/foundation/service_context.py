"""The context manager of clients (``async with DefaultMQProducer(...) as producer``), which starts and shuts
them down.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class ServiceContext(ABC):
    """The common base of producers and consumers. RocketMQ's are started and shut down by hand."""

    @abstractmethod
    async def start(self) -> None:
        """Start the client."""

    @abstractmethod
    async def shutdown(self) -> None:
        """Shut the client down; a second call does nothing."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()
