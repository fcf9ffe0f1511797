"""The live runtime: sockets, mapped files, the machine's clock, threads for blocking listeners."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import os
import random
import socket
import time
from collections.abc import Callable, MutableMapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from engine.runtime.live.live_disk import LiveDisk
from engine.runtime.live.live_network import LiveNetwork
from engine.runtime.live.live_platform import new_executor
from engine.runtime.live.live_tls import ClientTls, ServerTls
from engine.runtime.port import Network, NodeIdentity

#: How many plain listeners of one node run in parallel. RocketMQ's ``consumeThreadMax`` is 20 for each consumer; a node
#: has a few consumers. More wait.
LISTENER_THREADS_MAX = 64


#: The names in the process. All live nodes of a process share them.
_PROCESS_NAMES: WeakValueDictionary[str, object] = WeakValueDictionary()


class LiveClock:
    """The machine's clock. :ivar ahead_ms: how far the node's clock is ahead of it, as an injected fault."""

    __slots__ = ("ahead_ms",)

    def __init__(self) -> None:
        self.ahead_ms = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.ahead_ms

    def monotonic_us(self) -> int:
        return time.monotonic_ns() // 1_000


class LiveRuntime:
    """The live runtime of one node. ``data_folder=None``: a node without files. ``seed`` makes its random choices
    repeatable.

    ``server_tls`` encrypts accepted connections, ``client_tls`` outgoing ones.
    """

    def __init__(
        self,
        node_name: str,
        data_folder: Path | None,
        seed: int | None = None,
        *,
        server_tls: ServerTls | None = None,
        client_tls: ClientTls | None = None,
    ) -> None:
        """Create the runtime. Raises :class:`DiskFault` if the data folder cannot be created or written,
        ``TlsUnusable``.
        """
        self.node_name = node_name
        self.clock = LiveClock()
        self._sockets = LiveNetwork(server_tls=server_tls, client_tls=client_tls)
        #: May be replaced by a wrapper, before the node starts.
        self.network: Network = self._sockets
        self.disk = LiveDisk(node_name, data_folder)
        self.process_names: MutableMapping[str, object] = _PROCESS_NAMES
        self._seed = seed
        self._randoms: dict[str, random.Random] = {}
        #: Threads for listeners that may block; created at first use.
        self._listener_threads: Executor | None = None
        self.identity = NodeIdentity(
            host_ip=_own_ip(),
            process_id=os.getpid(),
            instance_hash=self.random_for("instance hash").getrandbits(31),
        )

    def random_for(self, purpose: str) -> random.Random:
        """Return the random generator of a purpose, always the same object."""
        if purpose not in self._randoms:
            seed = None if self._seed is None else f"{self._seed}:{self.node_name}:{purpose}"
            self._randoms[purpose] = random.Random(seed)
        return self._randoms[purpose]

    async def call_listener(self, listener: Callable[..., Any], *arguments: Any) -> Any:
        if _is_coroutine_listener(listener):
            return await listener(*arguments)
        if self._listener_threads is None:
            self._listener_threads = new_executor(LISTENER_THREADS_MAX, f"{self.node_name}-listener")
        context = contextvars.copy_context()
        call = functools.partial(context.run, listener, *arguments)
        result = await asyncio.get_running_loop().run_in_executor(self._listener_threads, call)
        # A lambda around a coroutine function is a plain function that returns a coroutine.
        return await result if inspect.isawaitable(result) else result

    async def close(self) -> None:
        """Close every connection, listener and thread of the node. The engine on it must be shut down before."""
        try:
            await self._sockets.close()
        finally:
            if self._listener_threads is not None:
                # A running listener is left to end by itself.
                self._listener_threads.shutdown(wait=False, cancel_futures=True)
            self.disk.close()


def _own_ip() -> str:
    """Return the address from which this machine reaches others; loopback if it is not on a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket sends nothing; it only selects the local address.
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def _is_coroutine_listener(listener: Callable[..., Any]) -> bool:
    """Return whether calling ``listener`` creates a coroutine: an ``async def``, a partial of one, or an async
    ``__call__``.
    """
    return inspect.iscoroutinefunction(listener) or inspect.iscoroutinefunction(
        getattr(listener, "__call__", None)  # noqa: B004  # not a test for being callable
    )
