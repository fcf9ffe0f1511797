"""One name server (RocketMQ: ``NamesrvController``).

Name servers do not communicate with each other: every broker registers with each of them. Only what tools write is
stored: key-value configuration and changed settings. Routes are not stored, because the brokers register again.
"""

from __future__ import annotations

import dataclasses

from engine.name_server.default_request_processor import DefaultRequestProcessor
from engine.name_server.kv_config_manager import KVConfigManager
from engine.name_server.name_server_config import NameServerConfig
from engine.name_server.name_server_configuration import NameServerConfiguration
from engine.name_server.route_info_manager import RouteInfoManager
from engine.name_server.tool_request_processor import ToolRequestProcessor
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Runtime
from engine.runtime.started_parts import StartedParts


class NameServer:
    """A name server that listens from ``start`` to ``shutdown``.

    :param runtime: the node it runs on.
    :param config: its address and the expiry time of brokers.
    """

    def __init__(self, runtime: Runtime, config: NameServerConfig | None = None) -> None:
        # A copy: tools may change it while the name server runs.
        self.config = dataclasses.replace(config) if config is not None else NameServerConfig()
        self.configuration = NameServerConfiguration(self.config, runtime.disk)
        self.kv_config_manager = KVConfigManager(runtime.disk, self.config.max_kv_entries)
        self.started_ms = 0
        self._runtime = runtime
        self.route_info_manager = RouteInfoManager(
            runtime.clock, self.config.broker_channel_expired_time_ms, self.config.max_brokers, self.config.max_topics
        )
        self.server = RemotingServer(runtime, "name server")
        self.server.on_connection_closed(self.route_info_manager.channel_closed)
        routes, kv_configs = self.route_info_manager, self.kv_config_manager
        self.server.processors.register_methods(
            DefaultRequestProcessor(routes, kv_configs, self.config),
            ToolRequestProcessor(routes, kv_configs, self.configuration, self.server),
        )
        self._tasks = BackgroundTasks("name server")
        self._parts = StartedParts("name server")

    async def start(self) -> None:
        """Listen. Raises ``AddressInUse``; then, or if it is cancelled, all resources are released."""
        async with self._parts.starting():
            self.configuration.load()
            self.kv_config_manager.load()
            self._parts.add(self.server.shutdown)
            await self.server.start(self.config.host, self.config.port)
            self.started_ms = self._runtime.clock.now_ms()
            self._parts.add(self._tasks.stop)
            self._tasks.every(
                self.config.scan_not_active_broker_interval_ms,
                self.route_info_manager.scan_not_active_broker,
                "scan brokers",
                first_after_ms=self.config.scan_not_active_broker_first_after_ms,
            )

    @property
    def address(self) -> str:
        """Return the ``"ip:port"`` that is really bound."""
        return self.server.address

    async def shutdown(self) -> None:
        """Stop listening and clear all tables."""
        self.route_info_manager.forget_brokers()
        await self._parts.end()
