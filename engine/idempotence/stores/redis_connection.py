"""A connection to a real Redis, through redis-py.

A command whose answer was lost may have been carried out, and is sent again: :class:`.RedisRecordStore` recognises its
own record.
"""

from __future__ import annotations

from typing import Any

from engine.idempotence.foundation.errors import StoreUnreachable

#: Timeout for a connection, and for an answer.
TIMEOUT_MS = 5_000
#: As many as a consumer's listeners run concurrently (``consumeThreadMax``).
CONNECTIONS_MAX = 20


class RedisConnection:
    """A :class:`~engine.idempotence.foundation.redis_port.RedisCommands` with a pool of connections.

    :param url: a URL in redis-py's form: ``redis://``, ``rediss://`` or ``unix://``. Raises ``ValueError``,
        ``TypeError`` or ``AttributeError``.
    """

    def __init__(self, url: str, timeout_ms: int = TIMEOUT_MS, connections_max: int = CONNECTIONS_MAX) -> None:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        timeout_s = timeout_ms / 1_000
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=connections_max,
            timeout=timeout_s,
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            retry=Retry(NoBackoff(), 1),
        )
        pool.connection_class(**pool.connection_kwargs)  # refuses an unknown option now, not at first use
        self._redis = Redis.from_pool(pool)

    async def execute_command(self, *words: Any) -> Any:
        """Send one command. A refusal by Redis (no access, no memory, a replica) counts as unreachable, too."""
        from redis.exceptions import RedisError

        try:
            return await self._redis.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py has no types here
        except (RedisError, OSError) as error:
            raise StoreUnreachable(f"Redis: {error}") from error

    async def close(self) -> None:
        """Close all connections."""
        await self._redis.aclose()
