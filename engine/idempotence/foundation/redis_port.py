"""The port to Redis: one method, which ``redis.asyncio.Redis`` and the lab's Redis node both have."""

from __future__ import annotations

from typing import Any, Protocol


class RedisCommands(Protocol):
    """A connection to Redis. Answers are those of RESP 2: bytes or str, int, None, lists of them."""

    async def execute_command(self, *words: Any) -> Any:
        """Send one command. Raises :class:`~.errors.StoreUnreachable`."""
        ...
