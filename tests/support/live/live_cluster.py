"""A name server and a broker of this process, on real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.name_server.name_server import NameServer
from engine.name_server.name_server_config import NameServerConfig
from engine.runtime.live.live_runtime import LiveRuntime
from engine.store.files.store_config import MessageStoreConfig


@asynccontextmanager
async def live_cluster(folder: Path) -> AsyncIterator[str]:
    """A name server and a broker on free ports; the name server's address."""
    name_server_runtime = LiveRuntime("name-server", None)
    broker_runtime = LiveRuntime("broker-a", folder)
    name_server = NameServer(name_server_runtime, NameServerConfig(port=0))
    await name_server.start()
    config = BrokerConfig(port=0, name_server_addresses=(name_server.address,))
    broker = Broker(broker_runtime, config, MessageStoreConfig(mapped_file_size_commit_log=1 << 20))
    await broker.start()
    try:
        yield name_server.address
    finally:
        await broker.shutdown()
        await name_server.shutdown()
        await broker_runtime.close()
        await name_server_runtime.close()


async def until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait for ``condition``, a bounded time."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
