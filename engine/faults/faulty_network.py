"""A node's network with fault injection: all accepted connections get a frame interceptor.

It is a ``Network`` of the port around another one, live or in the lab.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.faults.fault_injector import FaultInjector
from engine.faults.frame_interceptor import FrameInterceptor
from engine.runtime.connection_limits import UNSENT_ALL_LIMIT_BYTES
from engine.runtime.frame_splitter import has_own_splitter
from engine.runtime.port import Connection, FrameHandler, Listener, Network


class FaultyNetwork:
    """A network whose listeners pass frames through a fault injector."""

    def __init__(self, network: Network, injector: FaultInjector) -> None:
        self._network = network
        self.injector = injector

    async def listen(
        self,
        host: str,
        port: int,
        handler_factory: Callable[[], FrameHandler],
        unsent_limit_bytes: int = UNSENT_ALL_LIMIT_BYTES,
    ) -> Listener:
        def with_interceptor() -> FrameHandler:
            handler = handler_factory()
            # An interceptor can only decode RocketMQ's commands.
            return handler if has_own_splitter(handler) else FrameInterceptor(self.injector, handler)

        return await self._network.listen(host, port, with_interceptor, unsent_limit_bytes)

    async def connect(self, address: str, handler: FrameHandler, timeout_ms: int) -> Connection:
        return await self._network.connect(address, handler, timeout_ms)
