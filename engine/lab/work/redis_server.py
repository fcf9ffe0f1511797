"""A small model of Redis: keys with a time to live, in memory, one command at a time.

It knows the commands that :mod:`engine.idempotence.stores.redis_record_store` sends, and of scripts the two of it: they
are not run but recognized. What a real Redis does with them is held to the same tests.

It forgets as Redis does: a process that ends loses its memory, and the replica that takes its place holds what had
reached it, that is nothing of the last ``replica_lag_ms``.
"""

from __future__ import annotations

import re
from collections import deque
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.idempotence.stores.redis_record_store import COMPARE_AND_DELETE, COMPARE_AND_SET
from engine.lab.work.store_frames import StoreRequestCode, decode_body, encode_body
from engine.protocol.command.remoting_command import RemotingCommand
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.remoting.remoting_server import RemotingServer

if TYPE_CHECKING:
    from engine.runtime.port import Clock, Runtime

#: Most writes in flight to the replica.
_WRITES_KEPT = 10_000


class RedisValue(NamedTuple):
    """A value in Redis. ``expires_us``: on the monotonic clock; None: never."""

    value: str
    expires_us: int | None


class RedisModel:
    """The memory of one Redis process.

    :ivar writes: (monotonic time, key, what it was set to; None: deleted), oldest first.
    """

    def __init__(self, clock: Clock, values: dict[str, RedisValue] | None = None) -> None:
        self._clock = clock
        self._values: dict[str, RedisValue] = dict(values or {})
        self.writes: deque[tuple[int, str, RedisValue | None]] = deque(maxlen=_WRITES_KEPT)

    def values(self) -> dict[str, RedisValue]:
        """Return what has not expired, oldest first."""
        now_us = self._clock.monotonic_us()
        for name in [
            name for name, one in self._values.items() if one.expires_us is not None and one.expires_us <= now_us
        ]:
            del self._values[name]
        return self._values

    def command(self, words: list[Any]) -> Any:
        """Return the answer. Raises ``ValueError`` with Redis' text for an unknown command."""
        name, *rest = words
        match str(name).upper(), rest:
            case "PING", []:
                return "PONG"
            case "GET", [key]:
                found = self.values().get(str(key))
                return None if found is None else found.value
            case "SET", [key, value, *options]:
                return self._set(str(key), str(value), [str(option) for option in options])
            case "DEL", [key]:
                return self._delete(str(key))
            case "PTTL", [key]:
                return self._remaining_ms(str(key))
            case "SCAN", [_, "MATCH", pattern, "COUNT", _]:
                # A character after a backslash stands for itself.
                glob = re.sub(r"\\(.)", r"[\1]", str(pattern))
                return ["0", [key for key in self.values() if fnmatchcase(key, glob)]]
            case "EVAL", [script, 1, key, *arguments]:
                return self._script(str(script), str(key), [str(one) for one in arguments])
        raise ValueError(f"ERR unknown command {words!r}")

    def _set(self, key: str, value: str, options: list[str]) -> str | None:
        if "NX" in options and key in self.values():
            return None
        ttl_ms = int(options[options.index("PX") + 1]) if "PX" in options else None
        expires_us = None if ttl_ms is None else self._clock.monotonic_us() + ttl_ms * 1_000
        self._write(key, RedisValue(value, expires_us))
        return "OK"

    def _delete(self, key: str) -> int:
        if key not in self.values():
            return 0
        self._write(key, None)
        return 1

    def _write(self, key: str, value: RedisValue | None) -> None:
        self._values.pop(key, None)
        if value is not None:
            self._values[key] = value
        self.writes.append((self._clock.monotonic_us(), key, value))

    def _remaining_ms(self, key: str) -> int:
        found = self.values().get(key)
        if found is None:
            return -2
        return -1 if found.expires_us is None else (found.expires_us - self._clock.monotonic_us()) // 1_000

    def _script(self, script: str, key: str, arguments: list[str]) -> int:
        found = self.values().get(key)
        if script not in (COMPARE_AND_SET, COMPARE_AND_DELETE):
            raise ValueError("ERR this model runs no other scripts than those of the record store")
        if found is None or found.value != arguments[0]:
            return 0
        if script == COMPARE_AND_DELETE:
            return self._delete(key)
        self._set(key, arguments[1], ["PX", arguments[2]])
        return 1


class RedisServer:
    """A Redis server.

    :ivar model: its contents.
    """

    def __init__(self, runtime: Runtime, name: str, model: RedisModel) -> None:
        self.model = model
        self._server = RemotingServer(runtime, f"redis {name}")
        self._server.processors.register_methods(self)

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises ``AddressInUse``."""
        await self._server.start(host, port)

    async def shutdown(self) -> None:
        """Close all sessions."""
        await self._server.shutdown()

    @answers(StoreRequestCode.REDIS_COMMAND, RemotingCommand)
    def answer(self, request: RemotingCommand) -> bytes:
        """Answer one command."""
        try:
            return encode_body(self.model.command(list(decode_body(request.body))))
        except (ValueError, IndexError) as error:
            raise RequestRefused(str(error)) from error
